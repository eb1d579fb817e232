package tui

import (
	"github.com/burin-dev/burin/internal/mode/tui/picture"
	"github.com/burin-dev/burin/llm"
)

// pictures shows the pictures of the conversation.
type pictures struct {
	*base
	show    *appearance
	display *display
}

// add shows a picture where the terminal can; elsewhere the cards say in words
// what it is.
func (p *pictures) add(img llm.Image) {
	protocol := picture.Detect(picture.Terminal{Getenv: p.getenv, Attributes: p.show.attributes})
	if protocol == picture.None || !p.show.images || p.show.screenReader || len(img.Data) == 0 {
		return
	}
	_, height := p.display.screen.Size()
	o := picture.Options{
		Protocol: protocol, Cols: min(p.show.imageCols, p.talk.look.Width-2), Rows: min(p.show.imageRows, height-4),
		CellWidth: p.show.cellWidth, CellHeight: p.show.cellHeight,
	}
	b := &shownPicture{img: img}
	p.talk.add(b)
	go func() {
		rendered, err := picture.Render(img, o)
		if err != nil {
			rendered = picture.Picture{} // the words stay
		}
		p.inbox.post(func() { b.picture, b.ready = rendered, true })
	}()
}
