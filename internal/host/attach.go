package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/burin-dev/burin/internal/bench"
	"github.com/burin-dev/burin/llm"
)

// Limits of what one prompt may carry. What is larger is refused, not cut: half a file
// reads like a whole one.
const (
	MaxTextFile  = 4 << 20  // bytes of a text file
	MaxMediaFile = 32 << 20 // bytes of an image, a PDF or another document, or a recording
)

// Attach reads a file that a person gives the model with a prompt: text, a PNG, JPEG,
// GIF, WebP, BMP or TIFF image, a PDF, or a document whose text can be taken (Word, Excel, PowerPoint,
// OpenDocument, EPUB, RTF), or a recording. name is what the person called it; the model and
// errors name it so. The session makes it fit the model.
func Attach(path, name string) (llm.Block, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("attach @%s: %w", name, cause(err))
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("attach @%s: %w", name, cause(err))
	}
	if info.IsDir() {
		return nil, fmt.Errorf("attach @%s: it is a folder: name a file", name)
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxMediaFile+1))
	if err != nil {
		return nil, fmt.Errorf("attach @%s: %w", name, cause(err))
	}
	block, err := AttachData(context.Background(), data, name) // a document has seconds
	if err != nil {
		return nil, fmt.Errorf("attach @%s: %w", name, err)
	}
	return block, nil
}

// AttachData is Attach for what a file has.
func AttachData(ctx context.Context, data []byte, name string) (llm.Block, error) {
	media := http.DetectContentType(data)
	switch {
	case len(data) > MaxMediaFile:
		return nil, fmt.Errorf("it is larger than %d MB", MaxMediaFile>>20)
	case media == "image/png" || media == "image/jpeg" || media == "image/gif" || media == "image/webp" || media == "image/bmp":
		return llm.Image{MIME: media, Data: data}, nil
	case bytes.HasPrefix(data, []byte("II*\x00")), bytes.HasPrefix(data, []byte("MM\x00*")):
		return llm.Image{MIME: "image/tiff", Data: data}, nil
	case bytes.HasPrefix(data, []byte("%PDF-")):
		return llm.Document{Name: filepath.Base(name), MIME: "application/pdf", Data: data}, nil
	}
	if audio := bench.AudioType(data); audio != "" {
		return llm.Document{Name: filepath.Base(name), MIME: audio, Data: data}, nil
	}
	text, ok, err := bench.DocumentText(ctx, data, name, MaxTextFile)
	switch {
	case err != nil:
		return nil, err
	case ok:
		return llm.Text{Text: AttachedText(name, text)}, nil
	case !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0:
		return nil, errors.New("it is neither text, nor a PNG, JPEG, GIF, WebP, BMP or TIFF image, nor a PDF, Word, Excel, PowerPoint, OpenDocument or EPUB document, nor a recording")
	case len(data) > MaxTextFile:
		return nil, fmt.Errorf("it is larger than %d MB: attach the part that matters", MaxTextFile>>20)
	}
	return llm.Text{Text: AttachedText(name, string(data))}, nil
}

// attachedBegin is how the text of an attached file begins.
const attachedBegin = "<file path="

// AttachedText is a text file as it stands in a prompt.
func AttachedText(name, text string) string {
	return fmt.Sprintf(attachedBegin+"%q>\n%s\n</file>", name, strings.TrimRight(text, "\n"))
}

// cause drops the path from an error that names it already.
func cause(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
