"""Raises an error whose message is markup for terminals and for pages."""

def scaled_dot_product_attention(query, key, value, mask=None):
    raise TypeError("\x1b[2J\x1b[31m[bold red]100 %[/]<script>alert(1)</script>\x00\ud800")
