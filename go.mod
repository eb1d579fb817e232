module github.com/burin-dev/burin

go 1.26
