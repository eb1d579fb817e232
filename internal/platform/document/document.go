// Package document makes text of files that are not text, and pictures that fit
// a model.
//
// [Detect] says what a file holds. Text goes through [Decode]; documents through
// [Extract], which gives Markdown; pictures through [FitImage]; archives through
// [OpenArchive] and [WriteArchive]; notebooks through [NotebookText] and
// [NotebookApply]; SQLite databases, which are read and written in place, through
// [Query] and [WriteRow].
//
// Whatever the bytes are, no function panics, follows a path out of its file or
// takes memory or time without limit; the limits stand beside the functions. A
// file that exceeds one gives an error, or text that says where it was cut.
package document

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/burin-dev/burin/internal/platform/document/office"
	"github.com/burin-dev/burin/internal/platform/document/pdf"
	"github.com/burin-dev/burin/internal/platform/document/sqlview"
)

// Kind is what a file holds.
type Kind string

const (
	Text     Kind = "text"
	Binary   Kind = "binary" // nothing this package reads
	Image    Kind = "image"  // PNG, JPEG, GIF, WebP, BMP, TIFF
	PDF      Kind = "pdf"
	Word     Kind = "docx"
	Slides   Kind = "pptx"
	Sheet    Kind = "xlsx"
	OpenDoc  Kind = "odf" // odt, ods, odp
	RTF      Kind = "rtf"
	EPUB     Kind = "epub"
	Notebook Kind = "ipynb"
	Archive  Kind = "archive" // zip, tar, tar.gz, tgz
	SQLite   Kind = "sqlite"
)

const (
	maxText = 8 << 20 // bytes of text that Extract returns
	maxTime = 5 * time.Second
)

// slots holds those that are read now. It is the process's, as the memory is.
var slots = make(chan struct{}, 2)

// Extract gives the text of a document, as Markdown where it has structure.
// Pages, slides and sheets are headed. Kinds that hold no document are an error.
//
// Whatever is in the file (zip bombs, loops), a document costs less than 100 MB of
// memory and 5 seconds: 24 MB of XML or 64 MB of a PDF's streams are unpacked, and 8 MB
// of text are given. What lies beyond a limit is left out, and the last line says so.
// If nothing was read by then, the document is an error. Two are read at a time, whoever asks.
func Extract(ctx context.Context, k Kind, r io.ReaderAt, size int64) (string, error) {
	select {
	case slots <- struct{}{}:
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	defer func() { <-slots }()
	limited, cancel := context.WithTimeoutCause(ctx, maxTime, fmt.Errorf("the document took more than %v to read", maxTime))
	defer cancel()
	text, err := extract(limited, k, r, size)
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if err != nil && limited.Err() != nil {
		err = context.Cause(limited)
	}
	return text, err
}

func extract(ctx context.Context, k Kind, r io.ReaderAt, size int64) (text string, err error) {
	defer recovered(&err)
	switch k {
	case PDF:
		return pdf.Text(ctx, r, size, maxText)
	case Word:
		return office.Word(ctx, r, size, maxText)
	case Slides:
		return office.Slides(ctx, r, size, maxText)
	case Sheet:
		return office.Sheet(ctx, r, size, maxText)
	case OpenDoc:
		return office.OpenDocument(ctx, r, size, maxText)
	case EPUB:
		return office.EPUB(ctx, r, size, maxText)
	case RTF:
		return office.RTF(ctx, r, size, maxText)
	}
	return "", fmt.Errorf("no text can be taken from a file of kind %s", k)
}

// Query reads a SQLite database at the path real. The selector is what follows
// the path in read's argument: "" (tables), "table", "table:key",
// "table?limit=&offset=&order=&where=", "?q=SELECT ...".
//
// The file is opened for reading, cannot be changed by any statement, and no
// other file can be attached. A query has 10 seconds and may give 500 rows.
func Query(ctx context.Context, real, selector string) (string, error) {
	return sqlview.Query(ctx, real, selector)
}

// WriteRow inserts ("table"), updates or, with blank content, deletes
// ("table:key") a row; content is a JSON5 object. It says what it did. A missing
// database is an error.
func WriteRow(ctx context.Context, real, selector, content string) (string, error) {
	return sqlview.Write(ctx, real, selector, content)
}
