package ddb_test

import (
	"net"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/internal/ddb"
	"ledger.example/internal/store"
)

// clientOf returns a client of an endpoint, with a setting that must not make it repeat writes.
func clientOf(endpoint string) *dynamodb.Client {
	return ddb.NewClient(aws.Config{
		Region: "us-east-1", BaseEndpoint: &endpoint, RetryMaxAttempts: 9,
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	})
}

// A store that accepts connections and does not answer leaves a command time to find out what became of its write. A
// store that refuses connections proves that nothing was written.
func TestAStoreThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	client := clientOf("http://" + listener.Addr().String())
	put := func() error {
		_, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("t"), Item: ddb.Item{}},
			ddb.Once)
		return err
	}
	start := time.Now()
	err = put()
	means(t, "write", ddb.WriteError(err), err, store.ErrUnknownOutcome)
	if took := time.Since(start); took > 4*time.Second {
		t.Errorf("gave up after %v", took)
	}

	listener.Close()
	err = put()
	means(t, "write", ddb.WriteError(err), err, store.ErrUnavailable)
}
