package tui

import (
	"context"

	files "github.com/burin-dev/burin/internal/customize/command"
	"github.com/burin-dev/burin/internal/model/connect"
	"github.com/burin-dev/burin/internal/model/usage"
	"github.com/burin-dev/burin/transcript"
)

// Host is the program around the face, as far as its commands need it. Its methods may
// be called from any goroutine, and take their time.
type Host interface {
	// Command runs a command of the command line and gives what it prints. Nobody can
	// be asked meanwhile.
	Command(ctx context.Context, args ...string) (string, error)
	// Models are the models and the keys to them, opened at the first call.
	Models() (*connect.Models, error)
	// Dump has the next request to a model written to path, and its answer beside it;
	// done is called when it is.
	Dump(path string, done func(error)) error
	// Reload has the next call of Models read the settings anew.
	Reload()
	// Ledger is the account.
	Ledger() (*usage.Ledger, error)
	// FileCommands are the commands that are files.
	FileCommands() *files.Set
	// Sessions is the folder where sessions are kept, Index the file of their index.
	Sessions() string
	Index() string
	// Handoff begins a session with a document, behind that in file, and gives its file.
	Handoff(file string, from transcript.Header, title, document string) (path string, err error)
	// Copy makes a session of that in file: of its branch up to an entry, or whole where
	// entry is "". It gives the file of the copy.
	Copy(ctx context.Context, file, entry string) (copied string, err error)
	// Crumb notes that the session is the one of this terminal.
	Crumb(path string)
}
