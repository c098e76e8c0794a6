package wire_test

import (
	"hash/crc32"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/ledger/table"
	"ledger.example/ledger/wire"
)

// environment points LoadClient at an endpoint, with a setting that must not make it repeat writes.
func environment(t *testing.T, endpoint string) {
	t.Helper()
	none := filepath.Join(t.TempDir(), "none")
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL_DYNAMODB": endpoint, "AWS_REGION": "us-east-1",
		"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_SESSION_TOKEN": "",
		"AWS_MAX_ATTEMPTS": "9", "AWS_PROFILE": "", "AWS_CONFIG_FILE": none, "AWS_SHARED_CREDENTIALS_FILE": none,
	} {
		t.Setenv(name, value)
	}
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
	environment(t, server.URL)
	client, err := wire.LoadClient(t.Context())
	if err != nil {
		t.Fatal(err)
	}
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
	environment(t, "http://"+listener.Addr().String())
	client, err := wire.LoadClient(t.Context())
	if err != nil {
		t.Fatal(err)
	}
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
