package table_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/internal/table"
)

// clientOf returns a client of an endpoint, with a retry setting that must not apply to writes.
func clientOf(endpoint string) *dynamodb.Client {
	return table.NewClient(aws.Config{
		Region: "us-east-1", BaseEndpoint: &endpoint, RetryMaxAttempts: 9,
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	})
}

// If the store accepts connections and does not answer, a command has time to read the outcome of its write. If it
// refuses connections, nothing was written.
func TestAStoreThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	client := clientOf("http://" + listener.Addr().String())
	command, cancel := context.WithTimeout(t.Context(), 8*time.Second) // as long as one lives
	defer cancel()
	put := func() error {
		_, err := client.PutItem(command, &dynamodb.PutItemInput{TableName: aws.String("t"), Item: table.Item{}},
			table.Once)
		return err
	}
	err = put()
	means(t, "write", table.WriteError(err), err, table.ErrUnknownOutcome)
	if command.Err() != nil {
		t.Error("the command's time was over first")
	}

	listener.Close()
	err = put()
	means(t, "write", table.WriteError(err), err, table.ErrUnavailable)
}
