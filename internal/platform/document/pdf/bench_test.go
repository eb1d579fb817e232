package pdf_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/platform/document/pdf"
)

// A book of 100 pages with 50 lines each, words kerned as typesetters do.
func BenchmarkText(b *testing.B) {
	line := "[(W) 80 (ords) -250 (of) -250 (a) -250 (line) -250 (as) -250 (they) -250 (stand) -250 (on) -250 (a) -250 (page.)] TJ T*\n"
	content := stream("/Filter /FlateDecode", deflate("BT /F 10 Tf 12 TL 72 720 Td "+strings.Repeat(line, 50)+"ET"))
	objects := []string{catalogue, "", helvetica, content}
	var kids strings.Builder
	for i := range 100 {
		fmt.Fprintf(&kids, "%d 0 R ", i+5)
		objects = append(objects, "<< /Type /Page /Contents 4 0 R /Resources << /Font << /F 3 0 R >> >> >>")
	}
	objects[1] = "<< /Type /Pages /Kids [" + kids.String() + "] >>"
	data := build(objects...)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := pdf.Text(b.Context(), bytes.NewReader(data), int64(len(data)), limit); err != nil {
			b.Fatal(err)
		}
	}
}
