// Package accesslog reads access logs as requests in the order of their time.
//
//	request.go   one line of a log as a request
//	fields.go    what a format logs, and what a replay needs of it
//	template.go  lines by a format string: nginx, Apache, AWS ALB
//	escape.go    values in quotes
//	nginx.go     the variables of nginx
//	apache.go    the directives of Apache
//	column.go    fields of JSON and columns of CSV by their names
//	json.go      lines of JSON: Envoy, Caddy, and any other by the names of its fields
//	csv.go       lines of CSV by the names of its columns
//	stamp.go     instants in the forms that logs have
//	detect.go    which format a file has
//	lines.go     a file as lines: plain, gzip or Zstandard
//	order.go     the requests of one file in order; whole seconds are spread
//	file.go      one file as requests
//	log.go       several files as one log
//
// A line that is not a request is counted, and the first ones are kept. It never ends the
// reading.
package accesslog
