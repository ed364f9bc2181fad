"""What notebooks show: tables, their style, data frames, and a line of progress that is written again and again."""
