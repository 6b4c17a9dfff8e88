// Package accesslog reads access logs as requests in time order.
//
//	request.go   one line of a log as a request
//	fields.go    the fields of a format, and those that a replay needs
//	template.go  lines by a format string: nginx, Apache, AWS ALB
//	escape.go    values in quotes
//	nginx.go     the variables of nginx
//	apache.go    the directives of Apache
//	column.go    fields of JSON and columns of CSV by their names
//	json.go      lines of JSON: Envoy, Caddy, and any other by the names of its fields
//	csv.go       lines of CSV by the names of its columns
//	stamp.go     times in the formats that logs use
//	detect.go    detects the format of a file
//	lines.go     a file as lines: plain, gzip or Zstandard
//	order.go     sorts the requests of one file; spreads whole seconds
//	file.go      one file as requests
//	log.go       several files as one log
//
// Lines that are not requests are counted, and the first few are kept for the report. They never stop the reader.
package accesslog
