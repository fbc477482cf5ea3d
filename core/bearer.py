"""What an Authorization header says."""


def read_bearer(header: str | None) -> str | None:
    """Return the key in an Authorization header, or None when there is none; the scheme's case does not matter."""
    scheme, _, token = (header or "").strip().partition(" ")
    return token.strip() or None if scheme.lower() == "bearer" else None
