// Package restore brings a ledger's table back from its continuous backups, or from a backup, into a new table. What
// was done already is read from AWS, never from a file, so each step may be repeated after a crash, also on another
// machine.
package restore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/internal/table"
)

// Source is what a table is restored from: a moment of a table, or a backup. The zero value is nothing: a table that
// exists is gone on with.
type Source struct {
	Table  string
	At     time.Time
	Backup string // the ARN of a backup of DynamoDB
}

// String returns the source as text.
func (s Source) String() string {
	if s.Backup != "" {
		return "the backup " + s.Backup
	}
	return fmt.Sprintf("%s as of %s", s.Table, s.At.UTC().Format(time.RFC3339))
}

// Restorer restores one table. It is not safe for concurrent use.
type Restorer struct {
	Client *dynamodb.Client
	Source Source
	Table  string // the new one
	// Pause waits between two looks at AWS.
	Pause func(ctx context.Context) error
}

// newTables is how often a table that was just restored may be looked for before it is said not to exist: the answers
// of DescribeTable may be older than the restore.
const newTables = 12

// describe describes the new table, nil if there is none.
func (r *Restorer) describe(ctx context.Context) (*types.TableDescription, error) {
	out, err := r.Client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &r.Table})
	if _, absent := errors.AsType[*types.ResourceNotFoundException](err); absent {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if out.Table == nil { // another service answers
		return nil, fmt.Errorf("DynamoDB did not describe the table %s", r.Table)
	}
	return out.Table, nil
}

// Find describes the new table, nil if there is none. Error: there is one, but AWS does not say that it was restored
// from the source.
func (r *Restorer) Find(ctx context.Context) (*types.TableDescription, error) {
	table, err := r.describe(ctx)
	if err != nil || table == nil || r.Source == (Source{}) {
		return table, err
	}
	const advice = "give another name with --table; or, to go on with this table, leave out --from, --at and --backup"
	is := table.RestoreSummary
	if is == nil {
		return nil, fmt.Errorf("the table %s exists, and was not restored: %s", r.Table, advice)
	}
	_, from, _ := strings.Cut(aws.ToString(is.SourceTableArn), ":table/")
	at := aws.ToTime(is.RestoreDateTime)
	if r.Source.Backup != "" && aws.ToString(is.SourceBackupArn) != r.Source.Backup ||
		r.Source.Backup == "" && (from != r.Source.Table || at.Unix() != r.Source.At.Unix()) {
		return nil, fmt.Errorf("the table %s was restored from something else (%s as of %s, %s): %s", r.Table, from,
			at.UTC().Format(time.RFC3339), aws.ToString(is.SourceBackupArn), advice)
	}
	return table, nil
}

// Check returns an error if AWS cannot restore from the source. It says what can be restored instead.
func (r *Restorer) Check(ctx context.Context) error {
	if r.Source.Backup != "" {
		return r.checkBackup(ctx)
	}
	out, err := r.Client.DescribeContinuousBackups(ctx,
		&dynamodb.DescribeContinuousBackupsInput{TableName: &r.Source.Table})
	_, isGone := errors.AsType[*types.TableNotFoundException](err)
	if !isGone && err != nil {
		return err
	}
	if isGone {
		return r.orBackups(ctx, fmt.Sprintf("the table %s does not exist", r.Source.Table))
	}
	var p *types.PointInTimeRecoveryDescription
	if out.ContinuousBackupsDescription != nil {
		p = out.ContinuousBackupsDescription.PointInTimeRecoveryDescription
	}
	if p == nil || p.PointInTimeRecoveryStatus != types.PointInTimeRecoveryStatusEnabled {
		return r.orBackups(ctx, fmt.Sprintf("point-in-time recovery of %s is off", r.Source.Table))
	}
	first, last := aws.ToTime(p.EarliestRestorableDateTime), aws.ToTime(p.LatestRestorableDateTime)
	if r.Source.At.Before(first) || r.Source.At.After(last) {
		return fmt.Errorf("%s can be restored as of %s to %s, which is usually five minutes ago, and not of %s",
			r.Source.Table, first.UTC().Format(time.RFC3339), last.UTC().Format(time.RFC3339),
			r.Source.At.UTC().Format(time.RFC3339))
	}
	return nil
}

// checkBackup is Check for a backup.
func (r *Restorer) checkBackup(ctx context.Context) error {
	if strings.Contains(r.Source.Backup, ":backup:") {
		return errors.New("this is a recovery point of AWS Backup: restore it with `aws backup start-restore-job`, " +
			"and then go on with --table alone: see docs/recovery.md")
	}
	out, err := r.Client.DescribeBackup(ctx, &dynamodb.DescribeBackupInput{BackupArn: &r.Source.Backup})
	if err != nil {
		return err
	}
	if out.BackupDescription == nil || out.BackupDescription.BackupDetails == nil {
		return fmt.Errorf("DynamoDB did not describe %s", r.Source)
	}
	if d := out.BackupDescription.BackupDetails; d.BackupStatus != types.BackupStatusAvailable {
		return fmt.Errorf("%s is %s", r.Source, d.BackupStatus)
	}
	return nil
}

// orBackups returns an error with a reason, and the backups of the source's table.
func (r *Restorer) orBackups(ctx context.Context, why string) error {
	text := why
	in := &dynamodb.ListBackupsInput{TableName: &r.Source.Table, BackupType: types.BackupTypeFilterAll}
	for {
		out, err := r.Client.ListBackups(ctx, in)
		if err != nil {
			return fmt.Errorf("%s, and its backups cannot be listed: %w", why, err)
		}
		for _, b := range out.BackupSummaries {
			text += fmt.Sprintf("\n  --backup %s  (%s, of %s, %s)", aws.ToString(b.BackupArn), b.BackupType,
				aws.ToTime(b.BackupCreationDateTime).UTC().Format(time.RFC3339), b.BackupStatus)
		}
		if in.ExclusiveStartBackupArn = out.LastEvaluatedBackupArn; in.ExclusiveStartBackupArn == nil {
			break
		}
	}
	if text == why {
		return fmt.Errorf("%s, and it has no backup in this Region and account: see docs/recovery.md", why)
	}
	return errors.New(strings.Replace(text, "\n", ". These are its backups, instead of --from and --at:\n", 1))
}

// Begin begins the restore. A restore into this table that began before is no error: Find says from what it is.
func (r *Restorer) Begin(ctx context.Context) (err error) {
	if r.Source.Backup != "" {
		_, err = r.Client.RestoreTableFromBackup(ctx, &dynamodb.RestoreTableFromBackupInput{
			BackupArn: &r.Source.Backup, TargetTableName: &r.Table,
		})
	} else {
		_, err = r.Client.RestoreTableToPointInTime(ctx, &dynamodb.RestoreTableToPointInTimeInput{
			SourceTableName: &r.Source.Table, TargetTableName: &r.Table, RestoreDateTime: &r.Source.At,
		})
	}
	_, exists := errors.AsType[*types.TableAlreadyExistsException](err)
	_, inUse := errors.AsType[*types.TableInUseException](err)
	if exists || inUse {
		return nil
	}
	return err
}

// Wait returns when the new table and its indexes can be used. show gets its state. Error: also that the restore
// failed, so that there is no table.
func (r *Restorer) Wait(ctx context.Context, show func(status string)) (*types.TableDescription, error) {
	for absent := 0; ; {
		is, err := r.describe(ctx)
		if err != nil {
			return nil, err
		}
		status := "not to be seen yet"
		if is == nil {
			if absent++; absent == newTables {
				return nil, fmt.Errorf("AWS does not show the table %s: the restore failed, or its permissions are "+
					"missing: look in the console of DynamoDB", r.Table)
			}
		} else {
			absent, status = 0, stateOf(is)
			switch is.TableStatus {
			case types.TableStatusActive:
				if status == ready {
					return is, nil
				}
			case types.TableStatusCreating, types.TableStatusUpdating:
			default:
				return nil, fmt.Errorf("the table %s is %s", r.Table, is.TableStatus)
			}
		}
		show(status)
		if err := r.Pause(ctx); err != nil {
			return nil, err
		}
	}
}

const ready = "ready"

// stateOf returns the state of a table with its indexes.
func stateOf(d *types.TableDescription) string {
	if d.TableStatus != types.TableStatusActive {
		return string(d.TableStatus)
	}
	if d.RestoreSummary != nil && aws.ToBool(d.RestoreSummary.RestoreInProgress) {
		return "restoring"
	}
	for _, x := range d.GlobalSecondaryIndexes {
		if x.IndexStatus != "" && x.IndexStatus != types.IndexStatusActive {
			return fmt.Sprintf("index %s is %s", aws.ToString(x.IndexName), x.IndexStatus)
		}
	}
	return ready
}

// IsLedger returns an error if a table does not have the key and the indexes of a ledger's. It may have no stream.
func IsLedger(d *types.TableDescription) error {
	err := table.CompareTable(d)
	if differs, ok := errors.AsType[*table.SchemaError](err); ok && !differs.OnlyStream {
		return fmt.Errorf("%s is not a ledger's table: %s", differs.Table, strings.Join(differs.Differences, "; "))
	}
	return nil
}
