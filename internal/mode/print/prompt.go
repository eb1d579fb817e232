package print

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/burin-dev/burin/internal/host"
	"github.com/burin-dev/burin/llm"
)

// maxPiped is the most bytes of standard input. What is larger is refused, not cut:
// half a file reads like a whole one.
const maxPiped = host.MaxTextFile

// ErrNoPrompt says that there is nothing to send.
var ErrNoPrompt = errors.New(`there is no prompt: write burin -p "your question", or pipe text in`)

// Prompt makes the user's message of the words of the command line, in which
// @path names a file to attach, and of standard input (nil if it is not piped), which is a file to attach where there are words.
// A word that begins with @@ stands for itself without the first @. Files come
// first, then standard input, then the words. Text, images and PDFs are
// accepted. A word such as @server:uri stays where uses says that there is such a server, and
// no such file: the session attaches its resource. uses may be nil.
func Prompt(words []string, stdin io.Reader, uses func(server string) bool) (llm.Message, error) {
	var content []llm.Block
	var text []string
	for _, w := range words {
		path, isFile := strings.CutPrefix(w, "@")
		switch {
		case isFile && strings.HasPrefix(path, "@") && ofServer(path[1:], uses):
			text = append(text, w) // the session knows what it means
		case isFile && strings.HasPrefix(path, "@"):
			text = append(text, path)
		case isFile && ofServer(path, uses):
			if strings.ContainsFunc(path, unicode.IsSpace) {
				w = `@"` + path + `"`
			}
			text = append(text, w)
		case isFile && path != "":
			block, err := host.Attach(path, path)
			if err != nil {
				return llm.Message{}, err
			}
			content = append(content, block)
		default:
			text = append(text, w)
		}
	}
	prompt := strings.TrimSpace(strings.Join(text, " "))
	if stdin != nil {
		piped, err := io.ReadAll(io.LimitReader(stdin, maxPiped+1))
		if err != nil {
			return llm.Message{}, fmt.Errorf("read standard input: %w", err)
		}
		if len(piped) > maxPiped {
			return llm.Message{}, fmt.Errorf("standard input is larger than %d MB: pass the part that matters", maxPiped>>20)
		}
		if !utf8.Valid(piped) {
			return llm.Message{}, errors.New("standard input is not text: attach images and PDFs with @path")
		}
		if s := strings.TrimRight(string(piped), "\n"); strings.TrimSpace(s) != "" {
			if prompt != "" { // it is what the words are about, and not what the person says
				s = host.AttachedText("standard input", s)
			}
			content = append(content, llm.Text{Text: s})
		}
	}
	if prompt != "" {
		content = append(content, llm.Text{Text: prompt})
	}
	if len(content) == 0 {
		return llm.Message{}, ErrNoPrompt
	}
	return llm.Message{Role: llm.RoleUser, Content: content, Time: time.Now()}, nil
}

// ofServer reports whether a word after "@" names a resource of a server.
func ofServer(word string, uses func(server string) bool) bool {
	server, uri, ok := strings.Cut(word, ":")
	if !ok || uri == "" || uses == nil || strings.Contains(uri, `"`) {
		return false
	}
	if _, err := os.Stat(word); err == nil {
		return false
	}
	return uses(server)
}
