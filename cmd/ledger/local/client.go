package local

import (
	"net/http"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
)

const (
	// Region that requests to a local endpoint are signed for. DynamoDB Local
	// runs with -sharedDb, where any will do.
	Region = "us-east-1"
	// accessKey may have letters and digits only (AWS, "DynamoDB local usage
	// notes"). It opens nothing: DynamoDB Local checks no signature.
	accessKey = "local"

	// idleConnections is how many connections to the endpoint are kept open,
	// so that as many concurrent requests don't open one each time.
	idleConnections = 64
)

// DynamoDB returns a client for a local endpoint. It reads no profile and no
// environment, so it cannot reach anyone's account by mistake. The optFns may
// add middleware.
func DynamoDB(endpoint string, optFns ...func(*dynamodb.Options)) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		Region:       Region,
		BaseEndpoint: &endpoint,
		Credentials:  credentials.NewStaticCredentialsProvider(accessKey, accessKey, ""),
		HTTPClient:   httpClient(),
	}, optFns...)
}

// Streams returns a client for the streams of a local endpoint, as DynamoDB
// does for its tables.
func Streams(endpoint string, optFns ...func(*dynamodbstreams.Options)) *dynamodbstreams.Client {
	return dynamodbstreams.New(dynamodbstreams.Options{
		Region:       Region,
		BaseEndpoint: &endpoint,
		Credentials:  credentials.NewStaticCredentialsProvider(accessKey, accessKey, ""),
		HTTPClient:   httpClient(),
	}, optFns...)
}

func httpClient() *awshttp.BuildableClient {
	return awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
		t.Proxy = nil // the endpoint is on this machine
		t.MaxIdleConns = idleConnections
		t.MaxIdleConnsPerHost = idleConnections
	})
}
