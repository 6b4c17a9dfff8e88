package service

// Opened returns the number of a user's reservations that are counted, with those that are pending.
func (s *Service) Opened(user string) int { return s.opened.of[user].open.count() }

// Renewed returns the number of a user's renewed reservations that are remembered.
func (s *Service) Renewed(user string) int { return len(s.opened.of[user].renewed) }
