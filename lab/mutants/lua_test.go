package main

import "testing"

const fragment = `-- What it is: a function in words.
local top = '-- no comment'

--- functions

-- span takes long.
local function span(a, b)
  for i = 1, a do
    if i == b then return i end
  end
  local sorted = sort(a, function(x, y) return x < y end)
  repeat b = b - 1 until b == 0
  return 1e30
end

local between = 5

--- settle
if a ~= b then
  --@read
  a = b -- it moves
end
`

func TestLuaScopes(t *testing.T) {
	r, err := readRoom(folder(t, map[string]string{"f.lua": fragment}), ".")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, pattern string
		times         int
	}{
		{"f.lua", "local top", 1},
		{"f.lua", "'-- no comment'", 1},
		{"f.lua", "a", 0},
		{"f.lua functions", "between = 5", 1},
		{"f.lua functions", "1e30", 0}, // it is inside the function
		{"f.lua span", "return 1e30", 1},
		{"f.lua span", "between", 0},
		{"f.lua span", "for i=1,a do if i==b then return i end end", 1},
		{"f.lua span", "for $x = 1, a do if $x == b then return $x end", 1},
		{"f.lua span", "return $x", 2}, // $x matches neither keywords nor numbers
		{"f.lua settle", "a = b end", 1},
		{"f.lua settle", "a ~= b then a = b", 0}, // a part begins in between
		{"f.lua settle", "it moves", 0},
	} {
		found := r.named(c.name)
		if len(found) != 1 {
			t.Errorf("%d times %s", len(found), c.name)
			continue
		}
		if got := len(match(found[0].words, luaWords(c.pattern))); got != c.times {
			t.Errorf("%s: %q stands %d times, want %d", c.name, c.pattern, got, c.times)
		}
	}
}
