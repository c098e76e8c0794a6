package local

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
)

func TestDataBelongsToOneServer(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "books")
	first, err := openData(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	impatient, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := openData(impatient, dir); !errors.Is(err, ErrDataInUse) || !strings.Contains(err.Error(), dir) {
		t.Errorf("a second server: %v", err)
	}
	first.release()
	again, err := openData(t.Context(), dir)
	if err != nil {
		t.Fatal("after the first let go:", err)
	}
	again.release()
}
