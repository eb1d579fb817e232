// Package edit turns a model's edit into new file contents, exactly or not at all.
//
// An [Engine] is one language of edits: replace (old text for new), patch (the
// apply-patch format and unified diffs), hashline (lines named by number and
// hash) and whole (all of a file). [ForModel] picks the one a model was trained
// on. An engine reads files through a [Source] and gives a [Result]: what becomes
// of which file, as whole contents, for the caller to write. It writes nothing.
//
// What every engine promises:
//
//   - All or nothing. What does not fit as a whole is a [*Refusal], which tells
//     the model the reason, the nearest match and what to do.
//   - Text is found exactly first. Only if that finds nothing, differences that
//     cannot change the meaning are tolerated (line endings, whitespace at ends of
//     lines, indentation that differs uniformly, typographic punctuation, a sign
//     that a patch forgot), only if one place fits, and with a note in the result.
//   - New text is written as it is. Only where it goes with text found without its
//     indentation, and can't be meant as it is, its lines are indented like the
//     file's; where both readings make sense, it is a refusal.
//   - Lines that the edit does not change keep their bytes. New lines take the
//     line ending of what they replace, or else the file's most frequent one.
//     Byte order mark, encoding (UTF-8, UTF-16 with a mark, Latin-1), mode and a
//     missing newline at the end stay. A character that the encoding lacks is a
//     refusal.
//   - Binary files and files over 64 MB are refused ([OneSwap] is for these), and so is new text that
//     stands for text it leaves out ("... rest unchanged ...").
//
// Places in a file are found in document.go (text and lines), match.go (text,
// for replace) and block.go (runs of lines, for all); splice.go makes the new
// contents and diff.go the unified diff. What an edit left out is put right in
// indent.go and replace_indent.go (indentation) and patch_slip.go (signs of a patch).
package edit

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"sync"
)

// Source is where the engines read files. A file that does not exist is an error
// that is fs.ErrNotExist. If it also has the method Stat of fs.StatFS, files that
// are too large are not read at all.
type Source interface {
	ReadFile(name string) ([]byte, error)
}

// Engine is one language of edits. It is stateless and safe for concurrent use.
type Engine interface {
	Name() string                                 // replace, patch, hashline, whole
	Description() string                          // of the edit tool with this engine, Markdown
	Parameters() json.RawMessage                  // JSON schema of its arguments
	Paths(args json.RawMessage) ([]string, error) // files that the edit names, as the model wrote them
	// Apply works out the edit. It writes nothing. What cannot be applied as a
	// whole is a *Refusal; other errors are those of src.
	Apply(src Source, args json.RawMessage) (*Result, error)
}

// Change is what becomes of one file.
type Change struct {
	Path   string      // as in the arguments
	From   string      // of a file that moves: where it was
	Before []byte      // nil if the file did not exist; of a file that moves, what it held there
	After  []byte      // nil if the file is removed
	Mode   fs.FileMode // of a new file; 0 is the default. Existing files keep theirs.
}

// Result is an edit that fits.
type Result struct {
	Changes []Change
	Diff    string // unified, three lines of context, at most 64 KB and a line that says so
	Added   int    // lines
	Removed int
	Notes   []string // what was tolerated, a sentence each: "matched with other indentation at line 12"
	Inexact bool     // the text that the edit names is not in the file as it stands there, but for line ends
}

// maxFile is the largest file, before or after an edit, in bytes.
const maxFile = 64 << 20

// Engines gives all engines by name.
func Engines() map[string]Engine {
	all := map[string]Engine{}
	for _, e := range []Engine{replaceEngine{}, patchEngine{}, hashlineEngine{}, wholeEngine{}} {
		all[e.Name()] = e
	}
	return all
}

// patchModels are the families that were trained on the apply-patch format.
var patchModels = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(gpt-?5|gpt-4\.1|gpt-oss|o[1-9](-|$)|codex)|-codex(-|$)`)
})

// ForModel gives the engine that suits a model, by its id: patch for the models
// of OpenAI that were trained on it (GPT-4.1, GPT-5, gpt-oss, o-series, Codex) and
// replace for all others. The providers in front of an id ("openrouter/openai/…")
// do not matter. Hashline is for those who ask for it: no family was trained on
// it, and its tags cost tokens with every reading.
func ForModel(id string) Engine {
	name := path.Base(strings.ToLower(strings.TrimSpace(id)))
	name = strings.TrimPrefix(name, "openai.") // as Bedrock names them
	if patchModels().MatchString(name) {
		return patchEngine{}
	}
	return replaceEngine{}
}

// tolerance is what may differ between the text that an edit names and the file's.
type tolerance uint8

const (
	otherEndings    tolerance = 1 << iota // LF for CRLF or the reverse
	otherTrailing                         // whitespace at ends of lines
	otherTypography                       // quotes, dashes, ellipses, no-break spaces
	otherIndent                           // all lines indented otherwise, in the same way
	otherSign                             // of a patch: context without the space in front
)

func (t tolerance) String() string {
	var words []string
	if t&otherIndent != 0 {
		words = append(words, "indentation")
	}
	if t&otherTypography != 0 {
		words = append(words, "quotes, dashes or spaces")
	}
	if t&otherTrailing != 0 && len(words) == 0 {
		words = append(words, "whitespace at ends of lines")
	}
	if len(words) == 0 {
		words = append(words, "line endings")
	}
	return strings.Join(words, " and ")
}

// toleratedNote is the note on a match that was not exact. Unit is "edit" or
// "hunk", number is 0 where there is only one.
func toleratedNote(path, unit string, number, line int, t tolerance) string {
	what := path
	if number > 0 {
		what = fmt.Sprintf("%s, %s %d", path, unit, number)
	}
	return fmt.Sprintf("%s: matched at line %d, where the file has other %s than the edit", what, line, t)
}
