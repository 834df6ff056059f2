"""What papers print, one TOML file a study."""
