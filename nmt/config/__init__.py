"""Settings as frozen objects; each class is a file in conf/, where all defaults live. All are imported from here."""

from nmt.config.commands import *
from nmt.config.data import *
from nmt.config.kinds import *
from nmt.config.model import *
from nmt.config.tracking import *
from nmt.config.training import *
