"""The Network context: requests before they leave."""
