"""Operations on registry, panes and agents together. Each undoes its steps when it fails."""
