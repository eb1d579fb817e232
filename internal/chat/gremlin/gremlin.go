// Package gremlin keeps the data of GremlinOFA, a chat application in the browser, and is its
// storage server: [API] answers the same requests with the same words. The application encrypts
// everything before it sends it; a server has rows that it can't read.
//
// # Rows
//
// A row belongs to a tenant and one of [Tables]. What a client sent is given back byte for byte.
// [Records] are rows of burin's own database, or of a data.db of the original server, which is used as
// it is.
//
// # Tenants
//
// Who knows a tenant's id has its rows, so the id is a credential: 256 bits that are derived from
// the key ([Key.Tenant]). burin's own database has a hash of it only, and serves only tenants that a
// person has registered ([Tenants]). In a data.db any tenant is served, as the original does it.
//
// # Keys
//
// [Key] opens rows, for backups: [Records.Export] writes the application's CSV file and
// [Records.Import] reads it. The server itself never needs a key.
package gremlin

import (
	"errors"
	"slices"
)

var (
	// ErrKey means that a record was not encrypted with the key, or is damaged.
	ErrKey = errors.New("the key doesn't open it")
	// ErrTenant means that the server has no such tenant, or that its password is another.
	ErrTenant = errors.New("no such tenant")
)

// tables are those of the application, in the order of a backup: what the original writes and
// what it leaves out, which it reads all the same. The models that servers have are last.
var tables = []string{
	"app_metadata", "api_definitions", "projects", "chats", "minion_chats", "messages", "attachments",
	"vfs_meta", "vfs_files", "vfs_versions", "memories", "memory_journals", modelsCache,
}

const (
	modelsCache = "models_cache"
	definitions = "api_definitions"
)

func isTable(name string) bool { return slices.Contains(tables, name) }

// metadata stands in the place of a record that isn't encrypted.
const metadata = "__METADATA__"
