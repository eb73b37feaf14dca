"""What the other rooms return, as text, HTML and plots for people."""
