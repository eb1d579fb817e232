package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// source is a model as the package states it.
type source struct {
	ID               string             `json:"id"`
	Name             string             `json:"name"`
	API              string             `json:"api"`
	Provider         string             `json:"provider"`
	BaseURL          string             `json:"baseUrl"`
	Reasoning        bool               `json:"reasoning"`
	ThinkingLevelMap map[string]*string `json:"thinkingLevelMap"`
	Input            []string           `json:"input"`
	Cost             cost               `json:"cost"`
	ContextWindow    int                `json:"contextWindow"`
	MaxTokens        int                `json:"maxTokens"`
	Compat           map[string]any     `json:"compat"`
	Type             string             `json:"type"`
}

// cost is in dollars per million tokens; 0 and less mean not stated.
type cost struct {
	Input      float64 `json:"input"`
	Output     float64 `json:"output"`
	CacheRead  float64 `json:"cacheRead"`
	CacheWrite float64 `json:"cacheWrite"`
	Tiers      []struct {
		Above int `json:"inputTokensAbove"`
		cost
	} `json:"tiers"`
}

// readSource reads the models of the package's data files, one a provider: wire format →
// key → model. What is no chat model, or speaks a format that burin doesn't, is left out.
func readSource(data fs.FS) ([]source, error) {
	files, err := fs.Glob(data, "[a-z]*.json")
	if err != nil {
		return nil, err
	}
	var models []source
	for _, file := range files {
		text, err := fs.ReadFile(data, file)
		if err != nil {
			return nil, err
		}
		var formats map[string]map[string]source
		if err := json.Unmarshal(text, &formats); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		for api, byKey := range formats {
			for key, m := range byKey {
				if _, id, _ := strings.Cut(key, ":"); m.ID != id || m.Provider+".json" != file || m.API != api {
					return nil, fmt.Errorf("%s: %s calls itself %s/%s of %s", file, key, m.Provider, m.ID, m.API)
				}
				if strings.ContainsAny(m.ID+m.Name+m.BaseURL, "\t\n") {
					return nil, fmt.Errorf("%s: %s holds a tab or a line break", file, key)
				}
				if to, renamed := providerNames[m.Provider]; renamed {
					m.Provider = to
				}
				if m.Type == "chat" && served[m.API] && (m.BaseURL != "" || codecURL[m.Provider] && m.API != "openai-completions") {
					models = append(models, m)
				}
			}
		}
	}
	if len(models) == 0 {
		return nil, errors.New("no models found")
	}
	return models, nil
}
