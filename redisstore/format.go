package redisstore

// format is the first byte of every state, as lua/common.lua writes it. States of
// the format before it are read; a newer one is an error.
const format = 2
