package wall_test

import (
	"testing"

	"github.com/burin-dev/burin/internal/platform/wall"
)

func TestMoved(t *testing.T) {
	s := build(t, "/src/project",
		wall.Wall{Glob: ".git/hooks/**", Write: true},
		wall.Wall{Glob: "a/*/keys/*.pem", Read: true},
		wall.Wall{Glob: "**/.env", Read: true},
		wall.Wall{Glob: "**/conf/*.key", Read: true},
	)
	for _, tt := range []struct {
		from, to string
		want     bool
	}{
		{"/src/project/.git", "/src/project/x", true},
		{"/src/project/x", "/src/project/.git", true},
		{"/src/project/x", "/src/project/.GIT", true},
		{"/src/project", "/src/other", true},
		{"/src", "/other", true},
		{"/other", "/src", true},
		{"/src/project/a", "/src/project/b", true},
		{"/src/project/a/b", "/src/project/a/c", true},
		{"/src/project/a/b/keys", "/src/project/a/b/x", true},
		{"/src/project/b", "/src/project/c", false},
		{"/src/project/sub", "/src/project/sub2", false}, // **/.env holds in both
		{"/src/project/sub", "/elsewhere/sub", true},     // but not there
		{"/src/project/sub/conf", "/src/project/sub/x", true},
		{"/elsewhere/a", "/elsewhere/b", false},
		{"/src/project/.git/index.lock", "/src/project/.git/index", false},
		{"/src/project/.git/refs/heads/a.lock", "/src/project/.git/refs/heads/a", false},
	} {
		if got := s.Moved(tt.from, tt.to); got != tt.want {
			t.Errorf("%s to %s: %v, want %v", tt.from, tt.to, got, tt.want)
		}
	}
}
