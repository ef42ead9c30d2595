"""stub"""
class Web:
    mark = "translation.json"
