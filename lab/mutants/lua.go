package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// luaWord matches a Lua word or a comment. A line "--@name" marks where a part is inserted. It counts as a word, so
// that no pattern spans it.
var luaWord = regexp.MustCompile(`--@\w+|--[^\n]*|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|` +
	`[A-Za-z_]\w*|\d[\w.]*|[=~<>]=|\.\.\.?|\S`)

// luaPart matches the first line of a part in a fragment.
var luaPart = regexp.MustCompile(`(?m)^--- (\w+)\s*$`)

// luaKeyword matches keywords, which would otherwise look like names.
var luaKeyword = regexp.MustCompile(`^(and|break|do|else|elseif|end|false|for|function|if|in|local|nil|not|or|` +
	`repeat|return|then|true|until|while)$`)

func luaWords(source string) []word {
	var words []word
	for _, at := range luaWord.FindAllStringIndex(source, -1) {
		text := source[at[0]:at[1]]
		if strings.HasPrefix(text, "--") && !strings.HasPrefix(text, "--@") {
			continue
		}
		letter := text[0] == '_' || text[0]|' ' >= 'a' && text[0]|' ' <= 'z'
		words = append(words, word{text, at[0], at[1], letter && !luaKeyword.MatchString(text)})
	}
	return joined(words)
}

// luaScopes returns the functions and the parts in a directory's fragments, and the code outside both. Their names
// begin with the name of the file, as in "bucket.lua span".
func luaScopes(dir string) (scopes []scope, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.lua"))
	if err != nil {
		return nil, err
	}
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		scopes = append(scopes, luaFile(path, string(data))...)
	}
	return scopes, nil
}

func luaFile(path, source string) (scopes []scope) {
	rest := []word{}
	words, file := luaWords(source), filepath.Base(path)
	for i := 0; i < len(words); i++ {
		if words[i].text != "function" || i+1 == len(words) || !words[i+1].name {
			rest = append(rest, words[i])
			continue
		}
		end := luaEnd(words, i)
		scopes = append(scopes, scope{name: file + " " + words[i+1].text, file: path, source: source, words: words[i+2 : end]})
		i = end
	}
	name, from := file, 0
	for _, at := range luaPart.FindAllStringSubmatchIndex(source, -1) {
		scopes = append(scopes, scope{name: name, file: path, source: source, words: between(rest, from, at[0])})
		name, from = file+" "+source[at[2]:at[3]], at[1]
	}
	return append(scopes, scope{name: name, file: path, source: source, words: between(rest, from, len(source))})
}

// luaEnd returns the index where the function that begins at index i ends.
func luaEnd(words []word, i int) int {
	for depth := 0; i < len(words); i++ {
		switch words[i].text {
		case "function", "if", "do", "repeat":
			depth++
		case "end", "until":
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return len(words)
}
