package server

import (
	"cmp"
	"net/http"
)

// told is what a problem says in the language of who asked: programs, which name none, read English.
func (p *problems) told(detail string) string {
	if p.asked == nil || !german(p.asked) {
		return detail
	}
	return cmp.Or(germanProblem(detail), germanWrong(detail), detail)
}

// wordsOf gives the detail of a problem as it is written out.
func wordsOf(w http.ResponseWriter, detail string) string {
	if p, ok := w.(*problems); ok {
		return p.told(detail)
	}
	return detail
}

// germanProblem gives what is wrong in German, of what the chat app meets; "": it isn't among that. What stands in
// quotes, and what a provider says, stays as it is.
func germanProblem(text string) string {
	for _, one := range [...][2]string{
		{"the session is busy: wait for it, or stop it: stop what is done in the chat first", "der Chat arbeitet gerade: Halte zuerst an, was darin läuft"},
		{"the session is busy: wait for it, or stop it: stop what is done in the project's chats first", "im Projekt wird gearbeitet: Halte zuerst an, was in seinen Chats läuft"},
		{"the session is busy: wait for it, or stop it", "der Chat arbeitet gerade: Warte, oder halte ihn an"},
		{"the session has ended", "der Chat wurde geschlossen: Öffne ihn noch einmal"},
		{"the process that owns the session has ended", "der Prozess mit dieser Sitzung ist beendet"},
		{"the process that owns the session has ended: %s", "der Prozess mit dieser Sitzung ist beendet: %s"},
		{"this question is already settled", "diese Frage ist schon beantwortet"},
		{"nothing to retry: the last message has its answer", "nichts zu wiederholen: Die letzte Nachricht hat ihre Antwort"},
		{"no such agent", "diesen Agenten gibt es nicht"},
		{"the message is empty", "die Nachricht ist leer"},
		{"this connection may not do that", "das ist hier nicht erlaubt"},
		{"this connection may not do that: you have no such chat, and sessions of this machine are for admins", "du hast keinen solchen Chat, und die Sitzungen dieses Rechners sind für Admins"},
		{"there is nothing with that id: file does not exist: the project is in the trash, restore it first", "das Projekt liegt im Papierkorb: Stelle es zuerst wieder her"},
		{"there is nothing with that id: file does not exist", "nichts hat diese Kennung"},
		{"it was changed meanwhile: read it again", "es wurde inzwischen geändert: Lade es neu"},
		{"the model of this chat can't be used, choose another one: %s", "das Modell dieses Chats lässt sich nicht benutzen, wähle ein anderes: %s"},
		{"the project of this chat can't be opened: move the chat to another project (%s)", "das Projekt dieses Chats lässt sich nicht öffnen: Verschiebe den Chat in ein anderes%.0s"},
		{"%s: its data can't be opened: it is damaged, or sealed with another key", "%s: Die Daten lassen sich nicht öffnen: Sie sind beschädigt oder mit einem anderen Schlüssel versiegelt"},
		{"%s: its data can't be opened: the key that sealed it isn't there any more", "%s: Die Daten lassen sich nicht öffnen: Der Schlüssel ist nicht mehr da"},
		{"%s: its data can't be opened: it has a form that this burin doesn't read", "%s: Die Daten lassen sich nicht öffnen: Dieses burin liest ihre Form nicht"},
		{"this burin came without what draws diagrams: keep the folder \"web\" of the release beside the program (see docs/serve.md)", "dieses burin kam ohne das, was Diagramme zeichnet: Lass den Ordner \"web\" der Ausgabe neben dem Programm (siehe docs/serve.md)"},
		{"this burin came without what runs models in the browser: keep the folder \"web\" of the release beside the program (see docs/private.md)", "dieses burin kam ohne das, was Modelle im Browser ausführt: Lass den Ordner \"web\" der Ausgabe neben dem Programm (siehe docs/private.md)"},
		{"no model %s; did you mean %s?", "kein Modell %s; meinst du %s?"},
		{"no model %s", "kein Modell %s"},
		{"your groups may use %s, and %s is not among them: choose another model, or ask an admin", "deine Gruppen dürfen %s benutzen, %s gehört nicht dazu: Wähle ein anderes Modell, oder frage einen Admin"},
		{"your budget is used up: %s of %s for this month spent; wait until %s, or ask an admin for more", "dein Budget ist verbraucht: %s von %s in diesem Monat; warte bis %s, oder bitte einen Admin um mehr"},
		{"your storage is full: with this it would hold %s of %s; remove files with their old versions and the trash, or ask an admin for more", "dein Speicher ist voll: Damit wären %s von %s belegt; entferne Dateien mit alten Versionen und den Papierkorb, oder bitte einen Admin um mehr"},
		{"%s has no known price, so your budget can't be kept: choose another model, or have an admin set its price in models.yml", "der Preis von %s ist unbekannt, dein Budget ließe sich nicht einhalten: Wähle ein anderes Modell, oder lass einen Admin den Preis in models.yml eintragen"},
		{"%s of your turns run in other chats, and %s may at a time: wait until one has ended, or stop one", "in anderen Chats laufen schon %s deiner Antworten, gleichzeitig sind %s möglich: Warte, bis eine fertig ist, oder halte eine an"},
		{"the session has reached its cost limit", "der Chat hat seine Kostengrenze erreicht"},
		{"the session has reached its cost limit: %s", "der Chat hat seine Kostengrenze erreicht: %s"},
		{"there is no such attachment", "diesen Anhang gibt es nicht"},
		{"a message has it: it goes with the chat", "eine Nachricht hat ihn: Er geht mit dem Chat"},
		{"the file is too large", "die Datei ist zu groß"},
		{"the file is too large: %s", "die Datei ist zu groß: %s"},
		{"the picture is damaged: what it says about its origin can't be removed", "das Bild ist beschädigt: Was es über seine Herkunft verrät, lässt sich nicht entfernen"},
		{"the attachment is damaged", "der Anhang ist beschädigt"},
		{"attachment %s: %s: models read text, PDFs, Word, Excel, PowerPoint, OpenDocument and EPUB documents, PNG, JPEG, GIF, WebP, BMP and TIFF pictures, and recordings", "Anhang %s: %s: Modelle lesen Text, PDF, Word, Excel, PowerPoint, OpenDocument und EPUB, PNG-, JPEG-, GIF-, WebP-, BMP- und TIFF-Bilder sowie Aufnahmen"},
		{"the body has more than %s bytes, which is the most here", "das hat mehr als %s Byte, die hier möglich sind"},
		{"the keys are locked: unlock them with the password, at /account or with POST /v1/me/unlock", "die Schlüssel sind gesperrt: Entsperre sie mit dem Passwort auf deiner Kontoseite"},
		{"the keys of %s are locked: the project can be used again when %s has signed in", "die Schlüssel von %s sind gesperrt: Das Projekt geht wieder auf, wenn sich %s angemeldet hat"},
		{"you may only read this project: ask %s, whose project it is, for the right to write", "du darfst dieses Projekt nur lesen: Bitte %s darum, schreiben zu dürfen"},
		{"%s: you may only read this project: ask %s, whose project it is, for the right to write", "du darfst dieses Projekt nur lesen: Bitte %[2]s darum, schreiben zu dürfen"},
		{"only %s, whose project it is, may do that", "das darf nur %s: Das Projekt gehört dir nicht"},
		{"this project isn't shared with you any more", "dieses Projekt wird nicht mehr mit dir geteilt"},
		{"the storage of %s is full, where the files of this project count: ask them to make room", "der Speicher von %s ist voll, und dort zählen die Dateien dieses Projekts: Bitte um Platz"},
		{"not possible: members: the project is yours already", "das Projekt gehört dir schon"},
		{"not possible: members: at most %s", "nicht möglich: höchstens %s Mitglieder"},
		{"unknown person %s", "hier heißt niemand %s"},
		{"another server has this chat open and can't be reached: check server.address there, or try again in a minute", "ein anderer Server hat diesen Chat offen und ist nicht erreichbar: Prüfe dort server.address, oder versuche es in einer Minute wieder"},
		{"another burin serve has this chat open: use that one, or end it; servers share chats only on PostgreSQL (server.database)", "ein anderes burin serve hat diesen Chat offen: Benutze jenes, oder beende es; nur mit PostgreSQL teilen sich Server die Chats (server.database)"},
		{"the link isn't complete, has expired, or was removed: ask for a new one", "der Link ist unvollständig, abgelaufen oder entfernt: Bitte um einen neuen"},
		{"notifications are off: an admin can set server.push and start the server again", "Mitteilungen sind aus: Ein Admin kann server.push setzen und den Server neu starten"},
		{"a test was sent just now: try again in %s", "gerade wurde eine zur Probe gesendet: Versuche es in %s wieder"},
		{"the push service knows this subscription no more, so it was removed: subscribe again", "der Mitteilungsdienst kennt diesen Browser nicht mehr, er wurde entfernt: Schalte die Mitteilungen noch einmal ein"},
		{"not possible: name: a project needs one", "ein Projekt braucht einen Namen"},
		{"not possible: entry: nothing has been said in the chat", "in dem Chat wurde noch nichts gesagt"},
		{"not possible: chat: nothing has been said in it", "in dem Chat wurde noch nichts gesagt"},
		{"not possible: chat: its texts are larger than %s MB", "die Texte des Chats sind größer als %s MB"},
		{"not possible: you share %s chats: remove links that nobody needs", "du teilst %s Chats: Entferne Links, die niemand braucht"},
		{"not possible: tags: at most 50, not %s", "nicht möglich: höchstens 50 Tags, nicht %s"},
		{"not possible: temperature: from 0 to 2, not %s", "nicht möglich: Temperatur von 0 bis 2, nicht %s"},
		{"not possible: prompts and personas: at most %s bytes, not %s", "nicht möglich: Prompts und Personas: höchstens %s Byte, nicht %s"},
		{"not possible: %s: %s is there twice", "nicht möglich: %s: %s gibt es zweimal"},
		{"not possible: %s: each needs a name", "nicht möglich: %s: Jedes braucht einen Namen"},
		{"not possible: %s: at most %s bytes, not %s", "nicht möglich: %s: höchstens %s Byte, nicht %s"},
		{"not possible: %s: at most %s, not %s", "nicht möglich: %s: höchstens %s, nicht %s"},
		{"not possible: %s: no placeholder %s", "nicht möglich: %s: kein Platzhalter %s"},
		{"not possible: format.template: {{userMessage}} is missing", "nicht möglich: In der Vorlage fehlt {{userMessage}}"},
		{"not possible: %s", "nicht möglich: %s"},
	} {
		if german, ok := translated(text, one[0], one[1]); ok {
			return german
		}
	}
	return ""
}
