package local

import "testing"

func TestComplaintSkipsWarnings(t *testing.T) {
	tests := []struct{ out, want string }{
		{"npm warn Unknown user config\nnpm error code E404\nnpm error 404 Not Found\n", "npm error code E404"},
		{"npm WARN old\nnpm ERR! code ENOTFOUND\n", "npm ERR! code ENOTFOUND"},
		{"[WARNING] slow\n[ERROR] Failed to execute goal\n", "[ERROR] Failed to execute goal"},
		{"\nsomething else\n", "something else"},
		{"", "(no output)"},
	}
	for _, tt := range tests {
		if got := complaint([]byte(tt.out)); got != tt.want {
			t.Errorf("complaint(%q) = %q, want %q", tt.out, got, tt.want)
		}
	}
}
