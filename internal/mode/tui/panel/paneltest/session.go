package paneltest

import (
	"testing"
	"time"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
)

// Project is the folder of [Session].
const Project = "/home/ann/project"

// Session begins a session in a temporary folder, which is closed with the test.
func Session(t testing.TB) *transcript.Log {
	t.Helper()
	path, id := transcript.NewPath(t.TempDir(), Project, time.Now())
	log, err := transcript.Create(transcript.CreateFile(path), transcript.Header{ID: id, CWD: Project}, transcript.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	return log
}

// User is the entry of a prompt.
func User(text string) transcript.Entry { return Said(llm.UserText(text)) }

// Assistant is the entry of an answer.
func Assistant(text string) transcript.Entry { return Said(llm.AssistantText(text)) }

// Said is the entry of a message.
func Said(m llm.Message) transcript.Entry {
	return transcript.Entry{Type: transcript.TypeMessage, Message: &m}
}

// Append adds entries to a session and gives their ids.
func Append(t testing.TB, log *transcript.Log, entries ...transcript.Entry) (ids []string) {
	t.Helper()
	for _, e := range entries {
		id, err := log.Append(e)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	return ids
}
