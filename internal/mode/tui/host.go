package tui

import (
	"context"

	files "github.com/burin-dev/burin/internal/customize/command"
	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/internal/customize/rule"
	"github.com/burin-dev/burin/internal/customize/skill"
	"github.com/burin-dev/burin/internal/host/archive"
	"github.com/burin-dev/burin/internal/host/slash"
	"github.com/burin-dev/burin/internal/model/connect"
	"github.com/burin-dev/burin/internal/model/usage"
	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/index"
)

// Host is the program around the face, as far as its commands need it. Its methods may
// be called from any goroutine, and take their time.
type Host interface {
	// Settings are those that apply here, as the files have them now.
	Settings() (*config.Config, error)
	// Archive is what is done with sessions as a whole, by the settings as they are now.
	// warn is told what a person should know, from any goroutine.
	Archive(warn func(string)) (Archive, error)
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
	// Rules finds the rules for the model in the folder as they are now. Warnings say what was
	// left out.
	Rules() (set *rule.Set, warnings []string, err error)
	// Skills returns the skills of the folder.
	Skills() *skill.Set
	// Own returns what the program does for burin's own commands.
	Own() slash.Own
	// StatusLine runs the person's command for the status line, in the sandbox of the model's
	// commands, and gives the first line of its output. Where no session of this process can
	// run a command, that is "".
	StatusLine(ctx context.Context, command string, facts []byte) (string, error)
	// Crumb notes that the session is the one of this terminal.
	Crumb(path string)
}

// Archive is what the face does with sessions as a whole. Its methods may be called from
// any goroutine, and take their time.
type Archive interface {
	// Root is the folder where sessions are kept, Index the file of their index.
	Root() string
	Index() string
	// Fork copies a session into a folder; Branch copies it up to an entry.
	Fork(ctx context.Context, which, dir string) (archive.Created, error)
	Branch(ctx context.Context, which, entry string) (archive.Created, error)
	// Begin begins a session with a document, behind that in file.
	Begin(ctx context.Context, file string, from transcript.Header, title, document string) (archive.Created, error)
	Move(ctx context.Context, which, dir string) (archive.Moved, error)
	// Delete moves a session to the trash where forGood is nil.
	Delete(ctx context.Context, which string, forGood func(index.Info) error) (archive.Deleted, error)
	Export(ctx context.Context, o archive.ExportOptions) (archive.Exported, error)
	Share(ctx context.Context, which string, sure func(archive.Sharing) error) (string, error)
	Import(ctx context.Context, o archive.ImportOptions) (archive.ImportReport, error)
	Doctor(ctx context.Context, o archive.DoctorOptions) (archive.DoctorReport, error)
}

var _ Archive = (*archive.Archive)(nil)
