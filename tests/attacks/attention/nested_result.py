"""Returns a result nested a million deep, and one that holds itself."""


def scaled_dot_product_attention(query, key, value, mask=None):
    nested = [query]
    for _ in range(10**5):
        nested = [nested, query]
    looped = [nested]
    looped.append(looped)
    return looped, nested
