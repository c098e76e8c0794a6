package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"ledger.example/internal/local/dynamolocal"
	"ledger.example/internal/table"
)

// backups plays the answers of DynamoDB for a table "old" with continuous backups, which cover a day, and for a table
// that is restored from it, which has no items. It is as slow as a test needs it: each state is seen twice.
type backups struct {
	t  *testing.T
	mu sync.Mutex

	hasNoOld, isOff bool // the old table was deleted; its point-in-time recovery is off
	restores        int
	source          string // of the new table; "" while there is none
	looks           int    // at the new table, since it is restored
	isProtected     bool
	recovers        int // 0: off; 1: on; -1: refused for now
	hasStream       bool
	status          string // of the new table, in place of ACTIVE
	hasNoSummary    bool
	items           string // of the new table

	requests int
	crashes  int  // the number of the request at which the command ends; 0: none
	isLate   bool // AWS does what that request asks for
	crash    func()
}

const (
	oldARN    = "arn:aws:dynamodb:eu-central-1:123456789012:table/old"
	backupARN = oldARN + "/backup/01"
	moment    = "2026-11-22T09:00:00Z"
	seconds   = 1795338000 // moment
)

func (b *backups) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	var in map[string]any
	switch err := json.NewDecoder(r.Body).Decode(&in); {
	case errors.Is(err, io.ErrUnexpectedEOF): // the command ended while it sent this request
		panic(http.ErrAbortHandler)
	case err != nil:
		b.t.Errorf("%s: %v", operation, err)
	}
	b.requests++
	if b.requests == b.crashes && !b.isLate {
		b.crash()
		panic(http.ErrAbortHandler)
	}
	status, body := http.StatusOK, b.answer(operation, in)
	if b.requests == b.crashes {
		b.crash()
		panic(http.ErrAbortHandler)
	}
	if !strings.HasPrefix(body, "{") {
		status, body = http.StatusBadRequest, fmt.Sprintf(`{"__type":"com.amazonaws.dynamodb.v20120810#%s","message":"in words"}`, body)
	}
	w.Header().Set("X-Amz-Crc32", fmt.Sprint(crc32.ChecksumIEEE([]byte(body))))
	w.WriteHeader(status)
	io.WriteString(w, body)
}

func (b *backups) answer(operation string, in map[string]any) string {
	name, _ := in["TableName"].(string)
	switch operation {
	case "DescribeTable":
		return b.describe(name)
	case "DescribeContinuousBackups":
		status, days := "DISABLED", ""
		switch {
		case name == "old" && b.hasNoOld:
			return "TableNotFoundException"
		case name == "old" && !b.isOff, b.recovers == 1:
			status, days = "ENABLED", `,"RecoveryPeriodInDays":35`
		}
		return fmt.Sprintf(`{"ContinuousBackupsDescription":{"ContinuousBackupsStatus":"ENABLED","PointInTimeRecoveryDescription":`+
			`{"PointInTimeRecoveryStatus":%q,"EarliestRestorableDateTime":%d,"LatestRestorableDateTime":%d%s}}}`, status,
			seconds-86400, seconds+300, days)
	case "ListBackups":
		return `{"BackupSummaries":[{"BackupArn":"` + backupARN + `","BackupType":"SYSTEM","BackupStatus":"AVAILABLE","BackupCreationDateTime":1795338000}]}`
	case "DescribeBackup":
		return `{"BackupDescription":{"BackupDetails":{"BackupArn":"` + backupARN + `","BackupStatus":"AVAILABLE"}}}`
	case "RestoreTableToPointInTime", "RestoreTableFromBackup":
		if b.source != "" {
			return "TableAlreadyExistsException"
		}
		if at, ok := in["RestoreDateTime"].(float64); ok && at != seconds {
			b.t.Errorf("restores %v", at)
		}
		b.restores++
		b.source = `"SourceTableArn":"` + oldARN + `"`
		if operation == "RestoreTableFromBackup" {
			b.source += `,"SourceBackupArn":"` + backupARN + `"`
		}
		return `{"TableDescription":{}}`
	case "UpdateTable":
		b.isProtected = b.isProtected || in["DeletionProtectionEnabled"] == true
		return `{"TableDescription":{}}`
	case "UpdateContinuousBackups":
		if b.recovers < 1 {
			if b.recovers++; b.recovers == 0 {
				return "ContinuousBackupsUnavailableException"
			}
		}
		return `{"ContinuousBackupsDescription":{"ContinuousBackupsStatus":"ENABLED"}}`
	case "Scan":
		if name != "new" {
			b.t.Errorf("reads %s", name)
		}
		if b.items != "" {
			return b.items
		}
		return noItems
	case "Query":
		return noItems
	case "BatchGetItem", "GetItem":
		return `{}`
	case "GetResourcePolicy":
		return "PolicyNotFoundException"
	case "ListTagsOfResource":
		return `{"Tags":[]}`
	case "DescribeTimeToLive":
		return `{"TimeToLiveDescription":{"TimeToLiveStatus":"DISABLED"}}`
	}
	b.t.Errorf("unexpected operation %s", operation)
	return "AccessDeniedException"
}

func (b *backups) describe(name string) string {
	if name != "new" || b.source == "" {
		return "ResourceNotFoundException"
	}
	b.looks++
	status, index, restoring := "ACTIVE", "ACTIVE", false
	switch {
	case b.looks < 3: // the answer is older than the restore
		return "ResourceNotFoundException"
	case b.looks < 5:
		status, restoring = "CREATING", true
	case b.looks < 7:
		index = "CREATING"
	case b.status != "":
		status = b.status
	}
	schema, err := dynamolocal.Table()
	if err != nil {
		b.t.Error(err)
	}
	var indexes []map[string]any
	for _, x := range schema.GlobalSecondaryIndexes {
		indexes = append(indexes, map[string]any{
			"IndexName": x.IndexName, "KeySchema": x.KeySchema, "Projection": x.Projection, "IndexStatus": index,
		})
	}
	described := map[string]any{
		"TableName": "new", "TableArn": strings.TrimSuffix(oldARN, "old") + "new", "TableStatus": status,
		"KeySchema": schema.KeySchema, "AttributeDefinitions": schema.AttributeDefinitions,
		"GlobalSecondaryIndexes": indexes, "DeletionProtectionEnabled": b.isProtected,
		"OnDemandThroughput": map[string]any{"MaxReadRequestUnits": 12000, "MaxWriteRequestUnits": -1},
		"BillingModeSummary": map[string]any{"BillingMode": "PAY_PER_REQUEST"},
		"SSEDescription":     map[string]any{"Status": "ENABLED", "SSEType": "KMS", "KMSMasterKeyArn": "arn:aws:kms:x"},
	}
	if b.hasStream {
		described["StreamSpecification"] = map[string]any{"StreamEnabled": true, "StreamViewType": table.StreamView}
	}
	raw, err := json.Marshal(map[string]any{"Table": described})
	if err != nil {
		b.t.Error(err)
	}
	if b.hasNoSummary {
		return string(raw)
	}
	return strings.TrimSuffix(string(raw), "}}") + fmt.Sprintf(
		`,"RestoreSummary":{%s,"RestoreDateTime":%d,"RestoreInProgress":%t}}}`, b.source, seconds, restoring)
}

func init() { restorePause = time.Millisecond }

// restored runs `ledger restore` against b, with an answer for each question.
func restored(t *testing.T, b *backups, answers string, args ...string) (code int, out, problems string) {
	t.Helper()
	s := httptest.NewServer(b)
	defer s.Close()
	b.requests = 0
	var o, p strings.Builder
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	b.crash = cancel
	args = append([]string{"restore", "--dynamodb-endpoint", s.URL, "--table", "new"}, args...)
	code = run(ctx, args, func(string) string { return "" }, strings.NewReader(answers), &o, &p)
	return code, o.String(), p.String()
}

var fromOld = []string{"--from", "old", "--at", moment}

// A restore from scratch goes through all steps. Run again, it repeats none, and asks nothing.
func TestRestore(t *testing.T) {
	b := &backups{t: t, recovers: -1}
	code, out, problems := restored(t, b, "yes\n", append(fromOld, "--stack", "ledger-2")...)
	if code != exitDone || b.restores != 1 || !b.isProtected || b.recovers != 1 {
		t.Fatalf("exit %d, %+v: %s%s", code, b, out, problems)
	}
	says(t, problems, "Restore old as of "+moment+" into the new table new?", "Turned on: deletion protection",
		"Turned on: point-in-time recovery")
	says(t, out, "RESTORED=new NEW=ledger-2", "--change-set-type IMPORT", `"DeletionProtectionEnabled": true`,
		`"RecoveryPeriodInDays":35`, `"OnDemandThroughput": {"MaxReadRequestUnits":12000}`, "Sound: 0 items", "--rewind "+moment, "stream", "policy of the table")
	if strings.Contains(out, "KMSMasterKeyId") {
		t.Error("AWS's own key is in the template")
	}
	b.hasStream = true
	code, out, problems = restored(t, b, "", append(fromOld, "--own-key")...)
	if code != exitDone || b.restores != 1 || strings.Contains(out, "IMPORT") || !strings.Contains(problems, "going on with it") {
		t.Errorf("exit %d, %d restores: %s%s", code, b.restores, out, problems)
	}
	if code, out, _ = restored(t, b, "", "--stack", "ledger-3"); code != exitDone || !strings.Contains(out, `"StreamViewType":`) {
		t.Errorf("exit %d: %s", code, out)
	}
	b.hasStream = false
	if code, out, _ = restored(t, b, "", "--own-key"); code != exitDone || !strings.Contains(out, `"KMSMasterKeyId":"arn:aws:kms:x"`) {
		t.Errorf("exit %d: %s", code, out)
	}
}

// With --format json, each line of standard output is an object: the import, the audit and the settings.
func TestRestoreAsJSON(t *testing.T) {
	b := &backups{t: t, recovers: -1}
	code, out, problems := restored(t, b, "yes\n", append(fromOld, "--format", "json")...)
	var all struct {
		Import, Table string
		RestoredTo    string `json:"restored_to"`
		Sound         bool
		Settings      []struct {
			Name, Is string
			SetBy    string `json:"set_by"`
			Right    bool
		}
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	for _, line := range lines {
		if err := json.Unmarshal([]byte(line), &all); err != nil {
			t.Errorf("%v: %s", err, line)
		}
	}
	if code != exitDone || len(lines) != 3 || !strings.Contains(all.Import, "--change-set-type IMPORT") || !all.Sound ||
		all.Table != "new" || all.RestoredTo != moment || len(all.Settings) < 3 || all.Settings[0].SetBy == "" {
		t.Errorf("exit %d: %s\n%s", code, out, problems)
	}
}

// The command may lose its connection at any request, before or after AWS did what it was asked for. Run again, it goes
// on, and restores once.
func TestRestoreAfterCrashes(t *testing.T) {
	whole := &backups{t: t}
	if code, out, problems := restored(t, whole, "", append(fromOld, "--yes")...); code != exitDone {
		t.Fatalf("exit %d: %s%s", code, out, problems)
	}
	for at := 1; at <= whole.requests; at++ {
		for _, isLate := range []bool{false, true} {
			b := &backups{t: t, crashes: at, isLate: isLate}
			first, _, _ := restored(t, b, "", append(fromOld, "--yes")...)
			if first == exitDone && at < whole.requests {
				t.Errorf("request %d, late %t: no crash", at, isLate)
			}
			b.crashes = 0
			code, out, problems := restored(t, b, "", append(fromOld, "--yes")...)
			if code != exitDone || b.restores != 1 || !b.isProtected || b.recovers != 1 || !strings.Contains(out, "Sound") {
				t.Errorf("request %d, late %t: first exit %d, then %d, %d restores: %s%s", at, isLate, first, code, b.restores, out, problems)
			}
		}
	}
}

// What AWS does not restore, and what is not what it seems, is refused before anything is done.
func TestRestoreRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		b       *backups
		answers string
		args    []string
		code    int
		says    []string
	}{
		"no":              {&backups{}, "no\n", fromOld, exitFailed, []string{"the answer is not yes"}},
		"no answer":       {&backups{}, "", fromOld, exitFailed, []string{"--yes"}},
		"y":               {&backups{}, "y\n", fromOld, exitFailed, []string{"the answer is not yes"}},
		"nothing":         {&backups{}, "", nil, exitFailed, []string{"give --from and --at, or --backup"}},
		"too late":        {&backups{}, "yes\n", []string{"--from", "old", "--at", "2026-11-22T09:05:01Z"}, exitFailed, []string{"2026-11-22T09:05:00Z"}},
		"too early":       {&backups{}, "yes\n", []string{"--from", "old", "--at", "2026-11-21T08:59:59Z"}, exitFailed, []string{"2026-11-21T09:00:00Z"}},
		"deleted":         {&backups{hasNoOld: true}, "yes\n", fromOld, exitFailed, []string{"does not exist", "--backup " + backupARN, "SYSTEM"}},
		"off":             {&backups{isOff: true}, "yes\n", fromOld, exitFailed, []string{"is off", "--backup " + backupARN}},
		"vault":           {&backups{}, "yes\n", []string{"--backup", "arn:aws:backup:eu-central-1:123456789012:recovery-point:1"}, exitFailed, []string{"start-restore-job", "--table alone"}},
		"another moment":  {&backups{source: `"SourceTableArn":"` + oldARN + `"`, looks: 9}, "yes\n", []string{"--from", "old", "--at", "2026-11-22T08:00:00Z"}, exitFailed, []string{"restored from something else", moment}},
		"another table":   {&backups{source: `"SourceTableArn":"` + oldARN + `-er"`, looks: 9}, "yes\n", fromOld, exitFailed, []string{"restored from something else", "old-er"}},
		"not restored":    {&backups{source: "-", looks: 9, hasNoSummary: true}, "yes\n", fromOld, exitFailed, []string{"was not restored", "leave out"}},
		"being deleted":   {&backups{source: `"SourceTableArn":"` + oldARN + `"`, looks: 9, status: "DELETING"}, "yes\n", fromOld, exitFailed, []string{"the table new is DELETING"}},
		"from without at": {&backups{}, "", []string{"--from", "old"}, exitUsage, []string{"at"}},
		"both":            {&backups{}, "", append([]string{"--backup", backupARN}, fromOld...), exitUsage, []string{"backup"}},
	} {
		c.b.t = t
		code, out, problems := restored(t, c.b, c.answers, c.args...)
		if code != c.code || c.b.restores != 0 || c.b.isProtected {
			t.Errorf("%s: exit %d, %d restores: %s%s", name, code, c.b.restores, out, problems)
		}
		says(t, problems, c.says...)
	}
}

// A backup is restored alike. A table that another tool restored is gone on with.
func TestRestoreOfBackups(t *testing.T) {
	b := &backups{t: t, hasNoOld: true}
	for range 2 {
		if code, out, problems := restored(t, b, "yes\n", "--backup", backupARN); code != exitDone || b.restores != 1 {
			t.Errorf("exit %d, %d restores: %s%s", code, b.restores, out, problems)
		}
	}
	b = &backups{t: t, source: "-", looks: 9, hasNoSummary: true}
	if code, out, problems := restored(t, b, ""); code != exitDone || b.restores != 0 || !b.isProtected {
		t.Errorf("exit %d: %s%s", code, out, problems)
	}
}

// Events that do not agree with each other stop the restore, before anything is rebuilt.
func TestRestoreOfBrokenEvents(t *testing.T) {
	b := &backups{t: t, items: fmt.Sprintf(`{"Items":[{%q:{"S":"X#1"},%q:{"S":"Y"},%q:{"S":"Note"}}],"Count":1,"ScannedCount":1}`,
		table.AttrPK, table.AttrSK, table.AttrType)}
	code, out, problems := restored(t, b, "", append(fromOld, "--yes")...)
	if code != exitFailed || !strings.Contains(out, "unknown_item") || strings.Contains(out, "IMPORT") {
		t.Errorf("exit %d: %s%s", code, out, problems)
	}
	says(t, problems, "Restore an earlier moment")
}
