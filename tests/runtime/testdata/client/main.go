// Client is the least that a Lambda function can be that uses DynamoDB: what the SDK sets up before main is in it.
package main

import (
	"context"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

func main() {
	db := dynamodb.New(dynamodb.Options{Region: os.Getenv("AWS_REGION")})
	lambda.Start(func(ctx context.Context) error {
		_, err := db.GetItem(ctx, &dynamodb.GetItemInput{})
		return err
	})
}
