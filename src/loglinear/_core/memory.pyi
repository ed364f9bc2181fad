"""What happens when memory runs out."""

MEMORY_REMEDY: str

def end_when_exhausted() -> None: ...
