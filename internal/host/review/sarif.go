package review

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"strings"
)

// The parts of SARIF 2.1.0 (OASIS, Static Analysis Results Interchange Format) that a report needs.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool        sarifTool         `json:"tool"`
		Invocations []sarifInvocation `json:"invocations"`
		ColumnKind  string            `json:"columnKind"`
		Results     []sarifResult     `json:"results"`
		Properties  map[string]any    `json:"properties"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		Version        string      `json:"version,omitempty"`
		InformationURI string      `json:"informationUri"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID               string       `json:"id"`
		Name             string       `json:"name"`
		ShortDescription sarifMessage `json:"shortDescription"`
	}
	sarifInvocation struct {
		Successful    bool                `json:"executionSuccessful"`
		Notifications []sarifNotification `json:"toolExecutionNotifications,omitempty"`
	}
	sarifNotification struct {
		Level   string       `json:"level"`
		Message sarifMessage `json:"message"`
	}
	sarifMessage struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID       string            `json:"ruleId"`
		RuleIndex    int               `json:"ruleIndex"`
		Level        string            `json:"level"`
		Rank         float64           `json:"rank"` // 0 to 100
		Message      sarifMessage      `json:"message"`
		Locations    []sarifLocation   `json:"locations"`
		Fingerprints map[string]string `json:"partialFingerprints"`
		Properties   map[string]any    `json:"properties"`
	}
	sarifLocation struct {
		Physical sarifPhysical `json:"physicalLocation"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   sarifRegion   `json:"region"`
	}
	sarifArtifact struct {
		URI  string `json:"uri"`
		Base string `json:"uriBaseId"`
	}
	sarifRegion struct {
		StartLine int `json:"startLine"`
		EndLine   int `json:"endLine"`
	}
)

// SARIF is the report for tools that show results of analyses. What the second pass has refuted
// is left out. version is burin's.
func (r *Report) SARIF(version string) ([]byte, error) {
	run := sarifRun{
		Tool:        sarifTool{sarifDriver{Name: "burin review", Version: version, InformationURI: "https://github.com/burin-dev/burin"}},
		Invocations: []sarifInvocation{{Successful: !r.Incomplete}},
		ColumnKind:  "utf16CodeUnits",
		Results:     []sarifResult{},
		Properties:  map[string]any{"range": r.Range},
	}
	for _, c := range Concerns() {
		about, _, _ := strings.Cut(c.About, "? ")
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{c.Name, c.Name, sarifMessage{Text: about + "?"}})
	}
	for _, n := range r.Notes {
		run.Invocations[0].Notifications = append(run.Invocations[0].Notifications, sarifNotification{"warning", sarifMessage{Text: n}})
	}
	for i := range r.Findings {
		run.Results = append(run.Results, r.Findings[i].sarif())
	}
	return json.MarshalIndent(sarifLog{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{run}}, "", "  ")
}

func (f *Finding) sarif() sarifResult {
	level := map[Severity]string{"P0": "error", "P1": "error", "P2": "warning", "P3": "note"}[f.Severity]
	message := f.Title + "\n\n" + f.Explanation
	if f.Suggestion != "" {
		message += "\n\nSuggestion: " + f.Suggestion
	}
	rule := max(0, concernRank(f.Concerns[0]))
	sum := sha256.Sum256([]byte(f.File + "\x00" + f.Concerns[0] + "\x00" + strings.ToLower(f.Title)))
	return sarifResult{
		RuleID: f.Concerns[0], RuleIndex: rule, Level: level, Rank: f.Confidence * 100, Message: sarifMessage{Text: message},
		Locations: []sarifLocation{{sarifPhysical{
			sarifArtifact{(&url.URL{Path: f.File}).String(), "SRCROOT"}, sarifRegion{f.Line, f.EndLine},
		}}},
		Fingerprints: map[string]string{"burinReview/v1": hex.EncodeToString(sum[:16])},
		Properties: map[string]any{
			"severity": f.Severity, "confidence": f.Confidence, "concerns": f.Concerns, "verdict": f.Verdict, "inDiff": f.InDiff,
		},
	}
}
