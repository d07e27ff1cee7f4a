"""Where other people's conventions meet surepath's."""
