package headgate

// MaxNames is the number of names whose limits a limiter remembers.
const MaxNames = maxNames
