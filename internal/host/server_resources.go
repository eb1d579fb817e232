package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/burin-dev/burin/internal/host/mention"
	"github.com/burin-dev/burin/internal/platform/mcp"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
)

// maxParts is how many parts of a resource are attached.
const maxParts = 64

// mentioned attaches the resources of servers that a person's texts name with "@server:uri". What
// files say that are attached names nothing: somebody else may have written it.
func mentioned(ctx context.Context, links []*mcp.Link, texts []string) (blocks []llm.Block, problems []string) {
	of := func(server string) *mcp.Link {
		if i := slices.IndexFunc(links, func(l *mcp.Link) bool { return l.Server().Name == server && !l.Off() }); i >= 0 {
			return links[i]
		}
		return nil
	}
	texts = slices.DeleteFunc(slices.Clone(texts), func(text string) bool { return strings.HasPrefix(text, attachedBegin) })
	found := mention.Resources(strings.Join(texts, "\n"), func(server string) bool { return of(server) != nil })
	read := make([][]llm.Block, len(found))
	failed := make([]error, len(found))
	var all sync.WaitGroup
	for i, r := range found {
		all.Go(func() { read[i], failed[i] = attachResource(ctx, of(r.Server), r) })
	}
	all.Wait()
	for i, r := range found {
		blocks = append(blocks, read[i]...)
		if failed[i] != nil {
			problems = append(problems, fmt.Sprintf("%s is not attached: MCP server %s: %s", prose.Short(prose.Inline(r.String()), 200), r.Server, prose.Line(failed[i].Error())))
		}
	}
	return blocks, problems
}

// attachResource reads a resource, within the limits that files have.
func attachResource(ctx context.Context, l *mcp.Link, r mention.Resource) (blocks []llm.Block, err error) {
	parts, err := l.Read(ctx, r.URI)
	switch {
	case err != nil:
		return nil, err
	case len(parts) == 0:
		return nil, errors.New("it gave nothing")
	case len(parts) > maxParts:
		return nil, fmt.Errorf("it has more than %d parts", maxParts)
	}
	size := 0
	for i := range parts {
		p := &parts[i]
		uri := r.URI
		if len(parts) > 1 && p.URI != "" {
			uri = prose.Inline(p.URI)
		}
		name := "mcp://" + r.Server + "/" + uri // where the model finds it again
		if p.Blob != nil {
			block, err := AttachData(ctx, p.Blob, name)
			if err != nil {
				return nil, err
			}
			if t, ok := block.(llm.Text); ok {
				size += len(t.Text)
			}
			blocks = append(blocks, block)
		} else {
			size += len(p.Text)
			blocks = append(blocks, llm.Text{Text: AttachedText(name, p.Text)})
		}
		if size > MaxTextFile {
			return nil, fmt.Errorf("it is larger than %d MB", MaxTextFile>>20)
		}
	}
	return blocks, nil
}
