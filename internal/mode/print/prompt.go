package print

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/burin-dev/burin/llm"
)

// Limits of what one prompt may carry. What is larger is refused, not cut: half
// a file reads like a whole one.
const (
	MaxTextFile  = 4 << 20  // bytes of a text file or of standard input
	MaxMediaFile = 32 << 20 // bytes of an image or a PDF
)

// ErrNoPrompt says that there is nothing to send.
var ErrNoPrompt = errors.New(`there is no prompt: write burin -p "your question", or pipe text in`)

// Prompt makes the user's message of the words of the command line, in which
// @path names a file to attach, and of standard input (nil if it is not piped).
// A word that begins with @@ stands for itself without the first @. Files come
// first, then standard input, then the words. Text, images and PDFs are
// accepted.
func Prompt(words []string, stdin io.Reader) (llm.Message, error) {
	var content []llm.Block
	var text []string
	for _, w := range words {
		path, isFile := strings.CutPrefix(w, "@")
		switch {
		case isFile && strings.HasPrefix(path, "@"):
			text = append(text, path)
		case isFile && path != "":
			block, err := file(path)
			if err != nil {
				return llm.Message{}, err
			}
			content = append(content, block)
		default:
			text = append(text, w)
		}
	}
	if stdin != nil {
		piped, err := io.ReadAll(io.LimitReader(stdin, MaxTextFile+1))
		if err != nil {
			return llm.Message{}, fmt.Errorf("read standard input: %w", err)
		}
		if len(piped) > MaxTextFile {
			return llm.Message{}, fmt.Errorf("standard input is larger than %d MB: pass the part that matters", MaxTextFile>>20)
		}
		if !utf8.Valid(piped) {
			return llm.Message{}, errors.New("standard input is not text: attach images and PDFs with @path")
		}
		if s := strings.TrimRight(string(piped), "\n"); strings.TrimSpace(s) != "" {
			content = append(content, llm.Text{Text: s})
		}
	}
	if s := strings.TrimSpace(strings.Join(text, " ")); s != "" {
		content = append(content, llm.Text{Text: s})
	}
	if len(content) == 0 {
		return llm.Message{}, ErrNoPrompt
	}
	return llm.Message{Role: llm.RoleUser, Content: content, Time: time.Now()}, nil
}

// file reads an attachment.
func file(path string) (llm.Block, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("attach @%s: %w", path, cause(err))
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("attach @%s: %w", path, cause(err))
	}
	if info.IsDir() {
		return nil, fmt.Errorf("attach @%s: it is a folder: name a file", path)
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxMediaFile+1))
	if err != nil {
		return nil, fmt.Errorf("attach @%s: %w", path, cause(err))
	}
	name := filepath.Base(path)
	media := http.DetectContentType(data)
	switch {
	case len(data) > MaxMediaFile:
		return nil, fmt.Errorf("attach @%s: it is larger than %d MB", path, MaxMediaFile>>20)
	case media == "image/png" || media == "image/jpeg" || media == "image/gif" || media == "image/webp":
		return llm.Image{MIME: media, Data: data}, nil
	case bytes.HasPrefix(data, []byte("%PDF-")):
		return llm.Document{Name: name, MIME: "application/pdf", Data: data}, nil
	case !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0:
		return nil, fmt.Errorf("attach @%s: it is neither text, nor a PNG, JPEG, GIF or WebP image, nor a PDF", path)
	case len(data) > MaxTextFile:
		return nil, fmt.Errorf("attach @%s: it is larger than %d MB: attach the part that matters", path, MaxTextFile>>20)
	}
	return llm.Text{Text: fmt.Sprintf("<file path=%q>\n%s\n</file>", path, strings.TrimRight(string(data), "\n"))}, nil
}

// cause drops the path from an error that names it already.
func cause(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
