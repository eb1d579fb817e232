package catalog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/platform/smallfile"
	"github.com/burin-dev/burin/llm/wire"
)

const tableFile = "models.tsv"

// Refresh takes over a newer table of models from a file or an http(s) address, and keeps it
// in the folder cache. It is in the format of models.tsv or in that of [ModelsDev], which is
// laid over the compiled table. It is refused whole if any line of it is bad, and a
// models.tsv if it is not newer than the table in use: the table of before then stays.
// Catalogs opened from then on use it; what was spent before keeps its price. date is the day of its facts. client
// is wire.DefaultClient where it is nil.
func Refresh(ctx context.Context, client *http.Client, cache, from string) (date string, err error) {
	file := cacheFile(cache, tableFile)
	if file == "" {
		return "", errors.New("there is no cache folder to keep a table of models in")
	}
	text, err := fetch(ctx, client, from)
	if err != nil {
		return "", err
	}
	t := table{string(text)}
	list := bytes.HasPrefix(bytes.TrimSpace(text), []byte("{"))
	if list {
		t, err = fromModelsDev(table{embedded}, text, time.Now().UTC().Format(time.DateOnly))
	}
	if err == nil {
		err = checkTable(t)
	}
	if err != nil {
		return "", fmt.Errorf("%s is no table of models: %w; nothing changed", from, err)
	}
	if list {
		if date := t.head("date"); date < (table{embedded}).head("date") {
			return "", fmt.Errorf("the table that burin brings is of %s: is the clock of this computer right?", table{embedded}.head("date"))
		}
		return t.head("date"), writeFile(file, []byte(t.text))
	}
	current := table{embedded}
	if r, ok := refreshed(cache, current); ok {
		current = r
	}
	if t.head("date") <= current.head("date") {
		return "", fmt.Errorf("the table of %s is not newer than the one in use (%s)", t.head("date"), current.head("date"))
	}
	return t.head("date"), writeFile(file, text)
}

func fetch(ctx context.Context, client *http.Client, from string) ([]byte, error) {
	if !strings.HasPrefix(from, "http://") && !strings.HasPrefix(from, "https://") {
		text, err := smallfile.Given(from, maxAnswer)
		if err != nil {
			return nil, fmt.Errorf("read the table of models: %w", err)
		}
		return text, nil
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return nil, fmt.Errorf("the address %q is not usable", from)
	}
	req.Header.Set("User-Agent", wire.UserAgent)
	if client == nil {
		client = wire.DefaultClient()
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, errors.New(wire.TransportError(err).Message)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answered %s", req.URL.Host, resp.Status)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err == nil && len(text) > maxAnswer {
		err = fmt.Errorf("it is larger than %d MB", maxAnswer>>20)
	}
	if err != nil {
		return nil, fmt.Errorf("read the table of models from %s: %w", req.URL.Host, err)
	}
	return text, nil
}

// refreshed is the table in the cache folder, if there is one that is not older
// than the one compiled in. It was checked as a whole when it was taken over.
func refreshed(cache string, compiled table) (table, bool) {
	file := cacheFile(cache, tableFile)
	if file == "" {
		return table{}, false
	}
	text, err := smallfile.Read(file, maxAnswer)
	if err != nil {
		return table{}, false
	}
	t := table{string(text)}
	return t, t.head("date") >= compiled.head("date")
}
