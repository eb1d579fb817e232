package foreign

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Source is a place where a program keeps conversations.
type Source struct {
	Format Format
	Path   string
	Files  int // files that look like conversations, at most 10,000; a database is one
}

// maxCounted is where counting files ends.
const maxCounted = 10_000

// keeping is where a program keeps conversations, under the home folder.
type keeping struct {
	format Format
	path   string
	match  func(name string) bool // files of conversations; nil: the path is a database
}

func places() []keeping {
	return []keeping{
		{ClaudeCode, ".claude/projects", ending(".jsonl")},
		{Codex, ".codex/sessions", func(name string) bool { return strings.HasPrefix(name, "rollout-") }},
		{OpenCode, ".local/share/opencode/opencode.db", nil},
		{OpenCode, ".local/share/opencode/storage", func(name string) bool { return strings.HasPrefix(name, "ses_") }},
		{GeminiCLI, ".gemini/tmp", func(name string) bool { return strings.HasPrefix(name, "session-") }},
		{Pi, ".pi/agent/sessions", ending(".jsonl")},
		{Pi, ".omp/agent/sessions", ending(".jsonl")},
		{Pi, ".arcane/agent/sessions", ending(".jsonl")},
		{Pi, ".gjc/agent/sessions", ending(".jsonl")},
	}
}

// Default lists the places under the home folder where programs keep their
// conversations, as far as they are there. Only names are looked at. Exports of
// chat applications have no fixed place.
func Default(home string) []Source {
	var found []Source
	for _, p := range places() {
		path := filepath.Join(home, filepath.FromSlash(p.path))
		info, err := os.Stat(path)
		if err != nil {
			continue
		}
		n := 1
		if info.IsDir() {
			n = countFiles(path, p.match)
		}
		if n > 0 {
			found = append(found, Source{p.format, path, n})
		}
	}
	return found
}

func ending(ext string) func(string) bool {
	return func(name string) bool { return strings.HasSuffix(name, ext) }
}

func countFiles(path string, match func(string) bool) int {
	n := 0
	walkKept(path, match, func(string, fs.DirEntry) bool {
		n++
		return n < maxCounted
	})
	return n
}

// walkKept returns the files of conversations in a folder until give reports false. What
// cannot be listed is passed over.
func walkKept(path string, match func(string) bool, give func(path string, d fs.DirEntry) bool) {
	_ = filepath.WalkDir(path, func(at string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
		case d.IsDir() && (d.Name() == "subagents" || d.Name() == "message" || d.Name() == "part"):
			return fs.SkipDir
		case d.Type().IsRegular() && match(d.Name()) && !give(at, d):
			return fs.SkipAll
		}
		return nil
	})
}

// path imports a file or a folder.
func (in *importer) path(ctx context.Context, path string, f Format) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		in.fail(fmt.Errorf("import: %w", err))
	case info.IsDir():
		in.folder(ctx, path, f)
	default:
		in.file(ctx, path, f)
	}
}

// folder imports all that is in a folder, in the order of names.
func (in *importer) folder(ctx context.Context, path string, f Format) {
	seen := false
	err := filepath.WalkDir(path, func(at string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			if !in.fail(fmt.Errorf("import: %w", err)) {
				return fs.SkipAll
			}
			return nil
		case d.IsDir():
			done, handled := in.subfolder(ctx, at, d.Name(), f)
			seen = seen || handled
			return done
		case !d.Type().IsRegular() || !readable(at):
			return nil
		}
		if _, _, err := detectFile(at); f == "" && errors.Is(err, ErrUnknown) {
			return nil // other files of the program
		}
		seen = true
		in.file(ctx, at, f)
		if in.stopped || ctx.Err() != nil {
			return fs.SkipAll
		}
		return nil
	})
	if err != nil {
		in.fail(fmt.Errorf("import: %w", err))
	}
	if err := ctx.Err(); err != nil {
		in.fail(err)
	} else if !seen {
		in.fail(unknown(path))
	}
}

// subfolder imports folders that are one thing as a whole.
func (in *importer) subfolder(ctx context.Context, at, name string, f Format) (next error, handled bool) {
	switch {
	case name == "subagents":
		return fs.SkipDir, false // read with the session that they belong to
	case (f == "" || f == OpenCode) && isStorage(at):
		in.openCodeStorage(ctx, at, "")
	case f == "" || f == ChatGPT || f == ClaudeAI:
		x, err := openFolder(at)
		if err != nil || len(x.parts) == 0 {
			return nil, false // its files are looked at one by one
		}
		defer x.close()
		in.export(ctx, x, f)
	default:
		return nil, false
	}
	if in.stopped {
		return fs.SkipAll, true
	}
	return fs.SkipDir, true
}

// file imports one file.
func (in *importer) file(ctx context.Context, path string, f Format) {
	found, how, err := detectFile(path)
	switch {
	case f == "" && err != nil:
		in.fail(err)
		return
	case f == "":
		f = found
	}
	switch how {
	case asZip:
		x, err := openArchive(path)
		if err != nil {
			in.fail(err)
			return
		}
		defer x.close()
		in.export(ctx, x, f)
		return
	case asSQLite:
		in.openCodeDB(ctx, path)
		return
	}
	switch f {
	case ClaudeCode:
		in.one(ctx)(claudeCode(ctx, path))
	case Codex:
		in.one(ctx)(codex(ctx, path))
	case GeminiCLI:
		in.one(ctx)(gemini(ctx, path))
	case Pi:
		in.one(ctx)(pi(ctx, path))
	case LibreChat:
		in.one(ctx)(libreChat(path))
	case OpenCode:
		in.openCodeFile(ctx, path)
	case ChatGPT, ClaudeAI, OpenWebUI:
		in.exportFile(ctx, path, f)
	default:
		in.fail(unknown(path))
	}
}

// one hands over what reading a file of one conversation gave.
func (in *importer) one(ctx context.Context) func(*Session, error) {
	return func(s *Session, err error) {
		if err != nil {
			in.fail(err)
			return
		}
		in.give(ctx, s)
	}
}
