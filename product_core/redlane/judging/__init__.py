"""Questions for verdicts, whoever asks, and what they are answered."""
