package restore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"ledger.example/internal/table"
)

// recoveryDays is how long a restored table can be restored itself: the most that AWS has, and the default of
// template.yaml. The deployment sets that of its parameter.
const recoveryDays = 35

// protectTries is how often point-in-time recovery is asked for: AWS refuses it for a while after a restore.
const protectTries = 60

// Protect turns on what a restore does not bring, and what must not wait for the stack: deletion protection and
// point-in-time recovery. It returns what it turned on.
func (r *Restorer) Protect(ctx context.Context) (done []string, err error) {
	is, err := r.describe(ctx)
	if err != nil || is == nil {
		return nil, errors.Join(err, fmt.Errorf("protect the table %s", r.Table))
	}
	if !aws.ToBool(is.DeletionProtectionEnabled) {
		if _, err := r.Client.UpdateTable(ctx, &dynamodb.UpdateTableInput{
			TableName: &r.Table, DeletionProtectionEnabled: aws.Bool(true),
		}); err != nil {
			return nil, fmt.Errorf("deletion protection of %s: %w", r.Table, err)
		}
		done = append(done, "deletion protection")
	}
	for try := 1; ; try++ {
		on, _, err := r.recovery(ctx)
		if err != nil || on {
			return done, err
		}
		_, err = r.Client.UpdateContinuousBackups(ctx, &dynamodb.UpdateContinuousBackupsInput{
			TableName: &r.Table, PointInTimeRecoverySpecification: &types.PointInTimeRecoverySpecification{
				PointInTimeRecoveryEnabled: aws.Bool(true), RecoveryPeriodInDays: aws.Int32(recoveryDays),
			},
		})
		if err == nil {
			return append(done, "point-in-time recovery"), nil
		}
		_, later := errors.AsType[*types.ContinuousBackupsUnavailableException](err)
		if !later || try == protectTries {
			return done, fmt.Errorf("point-in-time recovery of %s: %w", r.Table, err)
		}
		if err := r.Pause(ctx); err != nil {
			return done, err
		}
	}
}

// recovery returns whether point-in-time recovery of the new table is on, and for how many days.
func (r *Restorer) recovery(ctx context.Context) (on bool, days int32, err error) {
	out, err := r.Client.DescribeContinuousBackups(ctx, &dynamodb.DescribeContinuousBackupsInput{TableName: &r.Table})
	if err != nil {
		return false, 0, fmt.Errorf("point-in-time recovery of %s: %w", r.Table, err)
	}
	if d := out.ContinuousBackupsDescription; d != nil && d.PointInTimeRecoveryDescription != nil {
		p := d.PointInTimeRecoveryDescription
		return p.PointInTimeRecoveryStatus == types.PointInTimeRecoveryStatusEnabled,
			aws.ToInt32(p.RecoveryPeriodInDays), nil
	}
	return false, 0, nil
}

// Setting is something that a restore does not bring.
type Setting struct {
	Name, Is string
	Right    bool
	By       string // who sets it
}

const (
	byCommand    = "this command"
	byDeployment = "the deployment after the import"
	byHand       = "you"
)

// Settings returns what a restore does not bring, as it is now. A setting that the caller may not read is not right.
func (r *Restorer) Settings(ctx context.Context) ([]Setting, error) {
	is, err := r.describe(ctx)
	if err != nil || is == nil {
		return nil, errors.Join(err, fmt.Errorf("the settings of the table %s", r.Table))
	}
	protected, on := aws.ToBool(is.DeletionProtectionEnabled), false
	recovery := "off"
	on, days, err := r.recovery(ctx)
	if err != nil {
		return nil, err
	}
	if on {
		recovery = fmt.Sprintf("on, %d days", days)
	}
	stream, streams := "off", false
	if s := is.StreamSpecification; s != nil && aws.ToBool(s.StreamEnabled) {
		stream, streams = string(s.StreamViewType), string(s.StreamViewType) == table.StreamView
	}
	capacity, onDemand := "provisioned; its auto scaling is not restored", false
	if b := is.BillingModeSummary; b != nil && b.BillingMode == types.BillingModePayPerRequest {
		capacity, onDemand = "on demand", true
	}
	all := []Setting{
		{"deletion protection", onOff(protected), protected, byCommand},
		{"point-in-time recovery", recovery, on, byCommand},
		{"stream", stream, streams, byDeployment},
		{"capacity", capacity, onDemand, byDeployment},
	}
	for _, ask := range []func(context.Context, string) (Setting, error){r.policy, r.tags, r.expiry} {
		s, err := ask(ctx, aws.ToString(is.TableArn))
		if refused, ok := errors.AsType[smithy.APIError](err); ok {
			s.Is, s.Right, err = "not known: "+refused.ErrorCode(), false, nil
		}
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

func (r *Restorer) policy(ctx context.Context, arn string) (Setting, error) {
	s := Setting{"policy of the table", "none", false, byDeployment}
	_, err := r.Client.GetResourcePolicy(ctx, &dynamodb.GetResourcePolicyInput{ResourceArn: &arn})
	if _, none := errors.AsType[*types.PolicyNotFoundException](err); none {
		return s, nil
	}
	if err == nil {
		s.Is, s.Right = "set", true
	}
	return s, err
}

func (r *Restorer) tags(ctx context.Context, arn string) (Setting, error) {
	s := Setting{"tags", "none", false, byDeployment}
	var names []string
	in := &dynamodb.ListTagsOfResourceInput{ResourceArn: &arn}
	for {
		out, err := r.Client.ListTagsOfResource(ctx, in)
		if err != nil {
			return s, err
		}
		for _, t := range out.Tags {
			names = append(names, aws.ToString(t.Key))
		}
		if in.NextToken = out.NextToken; in.NextToken == nil {
			break
		}
	}
	if len(names) > 0 {
		slices.Sort(names)
		s.Is = strings.Join(names, ", ")
		s.Right = slices.Contains(names, "service")
	}
	return s, nil
}

// expiry must be off: nothing of a ledger expires.
func (r *Restorer) expiry(ctx context.Context, _ string) (Setting, error) {
	s := Setting{"time to live", "off", true, byHand}
	out, err := r.Client.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &r.Table})
	if err != nil {
		return s, err
	}
	if d := out.TimeToLiveDescription; d != nil {
		switch d.TimeToLiveStatus {
		case types.TimeToLiveStatusEnabled, types.TimeToLiveStatusEnabling:
			s.Is, s.Right = "on: items are being deleted. Turn it off", false
		}
	}
	return s, nil
}
