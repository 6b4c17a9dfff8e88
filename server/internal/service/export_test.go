package service

// Opened returns the number of a user's reservations that are counted.
func (s *Service) Opened(user string) int { return s.opened.of[user].all }
