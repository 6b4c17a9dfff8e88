package service

// Opened returns the number of a user's reservations that are counted, with those that are pending.
func (s *Service) Opened(user string) int { return s.opened.of[user].open.count() }
