package wire_test

import (
	"hash/crc32"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/ledger/table"
	"ledger.example/ledger/wire"
)

// clientOf returns a client of an endpoint, with a setting that must not make it repeat writes.
func clientOf(endpoint string) *dynamodb.Client {
	return wire.NewClient(aws.Config{
		Region: "us-east-1", BaseEndpoint: &endpoint, RetryMaxAttempts: 9,
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	})
}

// As many concurrent requests as a process makes keep their connections.
func TestConnectionsAreReused(t *testing.T) {
	const concurrent, rounds = 64, 3
	var opened atomic.Int64
	together := make(chan struct{}) // closed when all of the first round are there
	var waiting atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if waiting.Add(1) == concurrent {
			close(together)
		}
		<-together
		w.Header().Set("X-Amz-Crc32", strconv.FormatUint(uint64(crc32.ChecksumIEEE([]byte("{}"))), 10))
		w.Write([]byte("{}"))
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	client := clientOf(server.URL)
	for range rounds {
		var group sync.WaitGroup
		for range concurrent {
			group.Go(func() {
				if _, err := client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String("t"), Key: wire.Item{}}); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
	}
	// One that is dialled while another becomes free is one more.
	if n := opened.Load(); n > concurrent+concurrent/8 {
		t.Errorf("%d connections for %d rounds of %d requests", n, rounds, concurrent)
	}
}

// A store that accepts and doesn't answer leaves the time of a command to find out what became of a write; one that
// refuses the connection proves that nothing was written.
func TestAStoreThatDoesNotAnswer(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	client := clientOf("http://" + listener.Addr().String())
	put := func() error {
		_, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("t"), Item: wire.Item{}}, wire.Once)
		return err
	}
	start := time.Now()
	err = put()
	means(t, "write", wire.WriteError(err), err, table.ErrUnknownOutcome)
	if took := time.Since(start); took > 4*time.Second {
		t.Errorf("gave up after %v", took)
	}

	listener.Close()
	err = put()
	means(t, "write", wire.WriteError(err), err, table.ErrUnavailable)
}
