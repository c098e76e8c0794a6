package local

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	template "ledger.example"
	"ledger.example/cmd/ledger/pump"
)

// sample has CloudFormation's functions in their short and long forms, and a
// parameter with a default, where templates have them.
const sample = `
AWSTemplateFormatVersion: 2010-09-09
Parameters:
  Size: {Type: Number, Default: 250}
  Key: {Type: String}
Resources:
  Books:
    Type: AWS::DynamoDB::Table
    DeletionPolicy: Retain
    Properties:
      TableName: !Sub "${AWS::StackName}-books"
      BillingMode: PAY_PER_REQUEST
      SSESpecification: !If [Own, {SSEEnabled: true, KMSMasterKeyId: !Ref Key}, !Ref "AWS::NoValue"]
      Tags:
        - {Key: owner, Value: !GetAtt Role.Arn}
        - {Key: long, Value: {"Fn::Join": ["-", [a, !Ref Key]]}}
      AttributeDefinitions:
        - {AttributeName: A, AttributeType: S}
        - {AttributeName: B, AttributeType: N}
      KeySchema:
        - {AttributeName: A, KeyType: HASH}
        - {AttributeName: B, KeyType: RANGE}
      GlobalSecondaryIndexes:
        - IndexName: Inverse
          KeySchema:
            - {AttributeName: B, KeyType: HASH}
          Projection: {ProjectionType: INCLUDE, NonKeyAttributes: [C, D]}
      StreamSpecification:
        StreamViewType: NEW_IMAGE
  Api:
    Type: AWS::Serverless::Function
    Properties:
      Events:
        Get: {Type: HttpApi, Properties: {Path: /}}
  Project:
    Type: AWS::Serverless::Function
    Condition: Own
    Properties:
      Timeout: 60
      Events:
        Changes:
          Type: DynamoDB
          Properties:
            Stream: !GetAtt Books.StreamArn
            StartingPosition: TRIM_HORIZON
            BatchSize: !Ref Size
            MaximumBatchingWindowInSeconds: 2
            MaximumRetryAttempts: 3
            MaximumRecordAgeInSeconds: 3600
            ParallelizationFactor: 4
            BisectBatchOnFunctionError: true
            FunctionResponseTypes: [ReportBatchItemFailures]
            FilterCriteria:
              Filters:
                - Pattern: '{"eventName":["INSERT"]}'
                - Pattern: '{"eventName":["MODIFY"]}'
`

func TestTableFromTemplate(t *testing.T) {
	got, err := TableFromTemplate([]byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	want := &dynamodb.CreateTableInput{
		BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String("A"), AttributeType: "S"}, {AttributeName: aws.String("B"), AttributeType: "N"}},
		KeySchema: []types.KeySchemaElement{
			{AttributeName: aws.String("A"), KeyType: "HASH"}, {AttributeName: aws.String("B"), KeyType: "RANGE"}},
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{{
			IndexName:  aws.String("Inverse"),
			KeySchema:  []types.KeySchemaElement{{AttributeName: aws.String("B"), KeyType: "HASH"}},
			Projection: &types.Projection{ProjectionType: "INCLUDE", NonKeyAttributes: []string{"C", "D"}},
		}},
		StreamSpecification: &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: "NEW_IMAGE"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestSettingsFromTemplate(t *testing.T) {
	got, err := SettingsFromTemplate([]byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	want := pump.Settings{
		Filters:                    []string{`{"eventName":["INSERT"]}`, `{"eventName":["MODIFY"]}`},
		BatchSize:                  250,
		Window:                     2 * time.Second,
		MaximumRetryAttempts:       3,
		MaximumRecordAge:           time.Hour,
		BisectBatchOnFunctionError: true,
		ReportBatchItemFailures:    true,
		ParallelizationFactor:      4,
		Timeout:                    time.Minute,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestSettingsHaveLambdasDefaults(t *testing.T) {
	got, err := SettingsFromTemplate([]byte(`
Resources:
  F:
    Type: AWS::Serverless::Function
    Properties:
      Events: {E: {Type: DynamoDB, Properties: {StartingPosition: TRIM_HORIZON}}}`))
	want := pump.Settings{BatchSize: 100, MaximumRetryAttempts: -1, MaximumRecordAge: -time.Second,
		ParallelizationFactor: 1, Timeout: 3 * time.Second}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v, %v\nwant %+v", got, err, want)
	}
}

func TestTheTemplateOfTheStack(t *testing.T) {
	table, err := TableFromTemplate(template.YAML)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(table.GlobalSecondaryIndexes); n != 2 {
		t.Errorf("%d indexes, want two", n)
	}
	if table.StreamSpecification == nil || table.StreamSpecification.StreamViewType != "NEW_IMAGE" {
		t.Errorf("stream %+v", table.StreamSpecification)
	}
	s, err := SettingsFromTemplate(template.YAML)
	if err != nil {
		t.Fatal(err)
	}
	if !s.ReportBatchItemFailures || !s.BisectBatchOnFunctionError || s.MaximumRetryAttempts < 0 || s.MaximumRecordAge <= 0 {
		t.Errorf("a poison record could stop its shard for a day: %+v", s)
	}
}

func TestTemplateErrors(t *testing.T) {
	change := func(old, new string) string {
		if !strings.Contains(sample, old) {
			t.Fatalf("%q is not in the sample", old)
		}
		return strings.Replace(sample, old, new, 1)
	}
	tests := map[string]struct{ template, says string }{
		"no YAML":               {"a: [", "template"},
		"empty":                 {"", "empty"},
		"no table":              {change("AWS::DynamoDB::Table", "AWS::S3::Bucket"), "there are 0"},
		"two tables":            {change("Resources:", "Resources:\n  More: {Type: AWS::DynamoDB::Table}"), "there are 2 [Books More]"},
		"a name that's unknown": {change("IndexName: Inverse", "IndexName: !Ref Key"), "Books"},
		"a key twice":           {change("      BillingMode: PAY_PER_REQUEST", "      BillingMode: PAY_PER_REQUEST\n      BillingMode: PROVISIONED"), "BillingMode"},
		"a local index":         {change("      StreamSpecification:", "      LocalSecondaryIndexes: []\n      StreamSpecification:"), "local secondary"},
		"no key":                {change("KeySchema:\n        - {AttributeName: A, KeyType: HASH}\n        - {AttributeName: B, KeyType: RANGE}", "Ignored: 1"), "KeySchema"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := TableFromTemplate([]byte(tt.template)); err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error %v, want one that says %q", err, tt.says)
			}
		})
	}
	mappings := map[string]struct{ template, says string }{
		"none":         {change("Type: DynamoDB\n", "Type: Kinesis\n"), "there are 0"},
		"LATEST":       {change("TRIM_HORIZON", "LATEST"), "can lose records"},
		"disabled":     {change("BatchSize: !Ref Size", "Enabled: false"), "not enabled"},
		"tumbling":     {change("BatchSize: !Ref Size", "TumblingWindowInSeconds: 5"), "tumbling"},
		"not a number": {change("BatchSize: !Ref Size", "BatchSize: !Ref Key"), "Project"},
	}
	for name, tt := range mappings {
		t.Run(name, func(t *testing.T) {
			if _, err := SettingsFromTemplate([]byte(tt.template)); err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error %v, want one that says %q", err, tt.says)
			}
		})
	}
}
