package bench

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/platform/lsp"
	"github.com/burin-dev/burin/internal/platform/sandbox"
	"github.com/burin-dev/burin/internal/platform/shell"
	"github.com/burin-dev/burin/internal/platform/workspace"
	"github.com/burin-dev/burin/internal/tools/code"
	"github.com/burin-dev/burin/internal/tools/file"
	"github.com/burin-dev/burin/tool"
	"github.com/burin-dev/burin/transcript/place"
)

// Language says which language servers a session may use, and for what.
type Language struct {
	Servers []lsp.Server  // that can be started for its folder
	Idle    time.Duration // how long one runs after its last use; 0 is the default, negative for ever
	Version string        // of burin, for the servers
	// OnWrite and OnEdit give the model the diagnostics that write and edit bring, Repeat also those
	// that were there before. Format formats what is written.
	OnWrite, OnEdit, Repeat, Format bool
}

// languageServers are the servers of the folder, which its sessions share.
func languageServers(b *seat) *lsp.Pool {
	b.Bench.pooling.Lock()
	defer b.Bench.pooling.Unlock()
	if b.Bench.pool == nil {
		b.Bench.pool = lsp.NewPool(lsp.Options{
			Version: b.Language.Version, Idle: b.Language.Idle, Confine: func() (policy []byte, env []string, err error) { return confineServer(b) },
			Environ: slices.DeleteFunc(slices.Concat(os.Environ(), b.Environ), func(v string) bool {
				name, _, _ := strings.Cut(v, "=")
				return shell.Credential(name) || name == "BURIN_SESSION_PASSPHRASE" || name == place.PasswordVariable || strings.HasPrefix(name, "BURIN_SERVER_")
			}),
		})
	}
	return b.Bench.pool
}

// confineServer confines a language server as commands are: what it runs of the project, such as
// build scripts, could be the model's. It may write the workspace and caches in any mode: a server
// that can't keeps nothing.
func confineServer(b *seat) (policy []byte, env []string, err error) {
	how, err := b.sandboxMode(b.policy.Mode())
	if err != nil {
		return nil, nil, err
	}
	if how == sandbox.ReadOnly {
		how = sandbox.WorkspaceWrite
	}
	walls := b.walls(how)
	if how == sandbox.Full && len(walls) == 0 {
		return nil, nil, nil
	}
	name, err := boxName(how, walls, nil)
	if err != nil {
		return nil, nil, err
	}
	box, started, err := b.boxes.box("language server "+name, func() (*sandbox.Sandbox, error) {
		return sandbox.Start(sandbox.Policy{
			Mode: how, Workspace: b.dir, Writable: b.writable(), Secret: b.secrets(), Hosts: b.Hosts, Walls: walls, Configs: b.autorun.Configs(),
		})
	})
	if err != nil {
		return nil, nil, fmt.Errorf("confine the language server: %w", err)
	}
	if missing := strings.TrimSpace(box.Missing()); started && missing != "" {
		b.Warn(missing)
	}
	return box.Encoded(), box.Env(), nil
}

// speaks reports whether the session has language servers.
func speaks(b *seat) bool {
	return b.dir != "" && len(b.Language.Servers) > 0 && !b.NoTools
}

// checks is what judges the edits of a session; nil if nothing does.
func checks(b *seat) func(context.Context, string, []workspace.Change) file.Checked {
	if !speaks(b) {
		return nil
	}
	return func(ctx context.Context, tool string, changes []workspace.Change) file.Checked {
		return b.code.Begin(ctx, tool, changes)
	}
}

// codeTools are the tools that ask language servers.
func codeTools(b *seat) []*tool.Tool {
	if !speaks(b) {
		return nil
	}
	b.code = code.New(code.Options{
		Workspace: b.ws, Pool: languageServers(b), Servers: b.Language.Servers, Artifacts: b.kept, Commit: b.files.Commit,
		Withheld: b.policy.Withheld, Learn: b.learn(),
		OnWrite: b.Language.OnWrite, OnEdit: b.Language.OnEdit, Repeat: b.Language.Repeat, Format: b.Language.Format,
	})
	return []*tool.Tool{b.code.Tool()}
}
